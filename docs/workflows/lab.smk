# Builds each kernel once and boots it for each cell, on one machine or a cluster:
#
#   snakemake --snakefile lab.smk --cores 2
#   snakemake --snakefile lab.smk --executor slurm --jobs 16 --config cache=/shared/lab
#
# Kernels, scenarios and the rest may be given with --config or --configfile (docs/lab.md).

PAGEOUT = config.get("pageout", "pageout")
# One folder for all machines: what one has built, others boot.
CACHE = f"--cache {config['cache']}" if "cache" in config else ""
# The first one is the base.
KERNELS = config.get("kernels", ["stock", "no-batch"])
# A name for each cell, and what `pageout lab run` takes after the kernel.
CELLS = config.get(
    "cells",
    {
        "classic": "reclaim-file order=4 lru=classic",
        "mglru": "reclaim-file order=4 lru=mglru",
    },
)
CONFIG = config.get("config", "arm64-4k")
RUNS = config.get("runs", 3)


rule all:
    input:
        "report.html",


rule build:
    output:
        touch("built/{kernel}"),
    # A build takes all that it gets; two at once only get in each other's way.
    threads: workflow.cores
    resources:
        mem_mb=4096,
    shell:
        "{PAGEOUT} lab build {wildcards.kernel} --config {CONFIG} --jobs {threads} {CACHE}"


rule boot:
    input:
        "built/{kernel}",
    output:
        "records/{kernel}/{cell}.json",
    params:
        what=lambda wildcards: CELLS[wildcards.cell],
    resources:
        mem_mb=4096,
    shell:
        "{PAGEOUT} lab run {wildcards.kernel} {params.what} --config {CONFIG} --runs {RUNS}"
        " --jobs 1 {CACHE} --json --output {output}"


rule report:
    input:
        expand("records/{kernel}/{cell}.json", kernel=KERNELS, cell=CELLS),
    output:
        "report.html",
    shell:
        "{PAGEOUT} report {input} --base kernel={KERNELS[0]} --output {output}"
