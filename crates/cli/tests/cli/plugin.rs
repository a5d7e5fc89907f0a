//! The instructions that the emulator's plugin counts, told apart.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

/// Encodings as GNU as has them, each with its kind.
const KINDS: &str = r#"
#include "decode.h"
#include <stdio.h>

static const struct { uint32_t word; enum kind kind; } arm64[] = {
	{ 0xd5033b9f, KIND_DSB },		/* dsb ish */
	{ 0xd503399f, KIND_DSB },		/* dsb ishld */
	{ 0xd5033f9f, KIND_DSB },		/* dsb sy */
	{ 0xd5033a9f, KIND_DSB_STORES },	/* dsb ishst */
	{ 0xd5033e9f, KIND_DSB_STORES },	/* dsb st */
	{ 0xd5033bbf, KIND_NONE },		/* dmb ish */
	{ 0xf8210062, KIND_ATOMIC },		/* ldadd */
	{ 0xf821007f, KIND_ATOMIC },		/* stadd */
	{ 0xf8e18062, KIND_ATOMIC },		/* swpal */
	{ 0xc8017c62, KIND_ATOMIC },		/* stxr */
	{ 0xc8a17c62, KIND_CAS },		/* cas */
	{ 0xf8bfc041, KIND_NONE },		/* ldapr */
	{ 0xd50883a0, KIND_TLBI },		/* tlbi vale1is */
};

static const struct { uint8_t bytes[8]; enum kind kind; } x86[] = {
	{ { 0xf0, 0x48, 0x83, 0x00, 0x01 }, KIND_ATOMIC },	/* lock add */
	{ { 0xf0, 0x48, 0x0f, 0xba, 0x30, 0x05 }, KIND_ATOMIC },	/* lock btr */
	{ { 0x65, 0xf0, 0xff, 0x40, 0x04 }, KIND_ATOMIC },	/* lock inc, by gs */
	{ { 0x48, 0x87, 0x02 }, KIND_ATOMIC },			/* xchg with memory */
	{ { 0x48, 0x87, 0xc2 }, KIND_NONE },			/* xchg of registers */
	{ { 0xf0, 0x48, 0x0f, 0xb1, 0x0a }, KIND_CAS },		/* lock cmpxchg */
	{ { 0xf0, 0x48, 0x0f, 0xc7, 0x0f }, KIND_CAS },		/* lock cmpxchg16b */
	{ { 0x48, 0x0f, 0xb1, 0x0a }, KIND_NONE },		/* cmpxchg */
	{ { 0x0f, 0x01, 0x38 }, KIND_TLBI },			/* invlpg */
	{ { 0x0f, 0x22, 0xd8 }, KIND_TLBI },			/* mov to cr3 */
};

int main(void)
{
	for (size_t i = 0; i < sizeof(arm64) / sizeof(*arm64); i++) {
		uint8_t bytes[4];

		memcpy(bytes, &arm64[i].word, sizeof(bytes));
		if (arm64_insn(bytes, sizeof(bytes)).kind != arm64[i].kind)
			return printf("arm64's encoding %zu\n", i);
	}
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++)
		if (x86_insn(x86[i].bytes, sizeof(x86[i].bytes)).kind != x86[i].kind)
			return printf("x86-64's encoding %zu\n", i);
	return 0;
}
"#;

#[test]
fn atomics_invalidations_and_barriers_are_told_by_their_encoding() {
    let place = tempdir().expect("a directory");
    let [source, program] = ["kinds.c", "kinds"].map(|name| place.path().join(name));
    fs::write(&source, KINDS).expect("the source is written");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/files/plugin");
    let mut compiler = Command::new("cc");
    compiler.arg("-I").arg(headers).arg("-o").args([&program, &source]);
    assert!(compiler.status().expect("there is a C compiler").success());
    let output = Command::new(&program).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "of another kind: {said}");
}
