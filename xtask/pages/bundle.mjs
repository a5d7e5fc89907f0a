// Makes the one file that draws charts, and the licences of all that is in it:
//   node bundle.mjs OUTPUT
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const output = process.argv[2];
const entry = `
  export { parse, View } from "vega";
  export { compile } from "vega-lite";
  export { expressionInterpreter } from "vega-interpreter";
`;
const { metafile } = await build({
  stdin: { contents: entry, resolveDir: "." },
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  globalName: "charts",
  legalComments: "none",
  metafile: true,
  outfile: join(output, "charts.js"),
});

// Packages of which something is in the file.
const inputs = Object.values(metafile.outputs)[0].inputs;
const folders = new Set();
for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
  const folder = path.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0];
  if (folder && bytesInOutput > 0) folders.add(folder);
}
// d3-delaunay's own file has these two in it.
["delaunator", "robust-predicates"].forEach((name) => folders.add(`node_modules/${name}`));
const accepted = ["BSD-3-Clause", "ISC", "MIT", "Unlicense"];
const packages = [...folders].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json")));
  if (!accepted.includes(license)) throw new Error(`${name} has licence ${license}`);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
  return { name, version, license, text };
});

// A package without a licence file of its own comes from the repository of one that has it.
const missing = packages.filter(({ text }) => !text).map(({ name }) => name);
if (missing.length) throw new Error(`no licence text of ${missing.join(", ")}`);
const texts = [...new Set(packages.map(({ text }) => text))];
const licences = texts.map((text) => {
  const under = packages.filter((one) => one.text === text);
  const list = under.map(({ name, version, license }) => `${name} ${version} (${license})`);
  return `${list.join(", ")}:\n\n${text}\n`;
});
writeFileSync(join(output, "charts.LICENCES.txt"), licences.join(`\n${"-".repeat(72)}\n\n`));

const sha256 = createHash("sha256").update(readFileSync(join(output, "charts.js"))).digest("hex");
const versions = packages.map(({ name, version }) => `${name} ${version}`);
writeFileSync(
  join(output, "charts.json"),
  `${JSON.stringify({ file: "charts.js", sha256, packages: versions }, null, 2)}\n`,
);
