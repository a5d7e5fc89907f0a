use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use tempfile::tempdir;

const DIFF: &str = "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-a = 1;\n+a = 2;\n";

/// Returns a mail of an mbox, in lore's form.
fn mail(subject: &str, headers: &str, body: &str) -> String {
    format!(
        "From mboxrd@z Thu Jan  1 00:00:00 1970\nFrom: A <a@b>\nSubject: {subject}\n{headers}\n\
         {body}\n"
    )
}

fn patch(subject: &str) -> String {
    mail(subject, "", &format!("Why.\n---\n{DIFF}-- \n2.50\n"))
}

fn given(bytes: &[u8]) -> Result<Given, String> {
    let directory = tempdir().unwrap();
    let path = directory.path().join("t.mbox");
    fs::write(&path, bytes).unwrap();
    let place = directory.path().display().to_string() + "/";
    let mut given =
        crate::patch::read(&path).map_err(|error| error.to_string().replace(&place, ""))?;
    given.notes.iter_mut().for_each(|note| *note = note.replace(&place, ""));
    Ok(given)
}

fn subjects(text: &str) -> Result<Vec<String>, String> {
    Ok(given(text.as_bytes())?.patches.into_iter().map(|patch| patch.subject).collect())
}

fn diffs(text: &str) -> Vec<String> {
    let patches = given(text.as_bytes()).unwrap().patches;
    patches.into_iter().map(|patch| String::from_utf8(patch.diff).unwrap()).collect()
}

#[test]
fn a_thread_out_of_order_gives_the_patches_of_its_latest_version_in_their_order() {
    let quoted = DIFF.lines().map(|line| format!("> {line}\n")).collect::<String>();
    let thread = [
        patch("[PATCH v2 2/2] mm: new two"),
        mail("Re: [PATCH v2 2/2] mm: new two", "", &format!("{quoted}\nReviewed-by: B\n")),
        patch("[PATCH 1/2] mm: one"),
        patch("[PATCH 2/2] mm: two"),
        mail("[PATCH 0/2] mm: both", "", "Why.\n"),
        mail("Re: [PATCH 0/2] mm: both", "", &format!("Like this?\n\n{DIFF}")),
        patch("[PATCH v2 1/2] mm: new one"),
        mail("[PATCH v2 0/2] mm: both", "", "Why.\n"),
    ];
    let given = given(thread.concat().as_bytes()).unwrap();
    let taken: Vec<&str> = given.patches.iter().map(|patch| &*patch.subject).collect();
    assert_eq!(taken, ["mm: new one", "mm: new two"]);
    let note = "t.mbox: takes 2 patches, version 2, and passes over 6 other mails";
    assert_eq!(given.notes, [note]);
}

#[test]
fn a_thread_may_be_compressed_whatever_its_name() {
    let text = patch("[PATCH v2 1/2] mm: one") + &patch("[PATCH v2 2/2] mm: two");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    assert_eq!(given(&bytes).unwrap().patches.len(), 2);
    let cut = given(&bytes[..bytes.len() / 2]).unwrap_err();
    assert!(cut.starts_with("cannot read t.mbox"), "{cut}");
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    (0..65).for_each(|_| bomb.write_all(&zeros).unwrap());
    assert!(given(&bomb.finish().unwrap()).is_err());
}

#[test]
fn requests_for_comments_and_mails_without_numbers_are_patches() {
    let rfc = patch("[RFC PATCH mm-unstable v4 01/02] x") + &patch("[RFC PATCH v4 02/02] y");
    assert_eq!(subjects(&rfc).unwrap(), ["x", "y"]);
    let unnumbered = patch("[PATCH] mm: b") + &patch("[PATCH] mm: a");
    assert_eq!(subjects(&unnumbered).unwrap(), ["mm: b", "mm: a"]);
    assert_eq!(subjects(&(patch("mm: old") + &patch("[PATCH v2] mm: new"))).unwrap(), ["mm: new"]);
}

#[test]
fn bodies_are_decoded_as_git_decodes_them() {
    let of = |kind: &str, encoding: &str| {
        format!(
            "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8{kind}\n\
             Content-Transfer-Encoding: {encoding}\n"
        )
    };
    let quoted = DIFF.replace('=', "=3D");
    let quoted =
        mail("[PATCH 1/3] =?UTF-8?q?for_J=C3=B6rg?=", &of("", "quoted-printable"), &quoted);
    // The same diff, with the line ends of mail.
    let base64 = "ZGlmZiAtLWdpdCBhL2EuYyBiL2EuYw0KLS0tIGEvYS5jDQorKysgYi9hLmMNCkBAIC0xICsxIEBADQot\n\
        YSA9IDE7DQorYSA9IDI7DQo=\n";
    let base64 = mail("[PATCH 2/3] two", &of("", "base64"), base64);
    // A blank at the end of a line says that it goes on in the next one.
    let flowed = DIFF.replace("+a = 2;", "+a = \n2;").replace("\n ", "\n  ");
    let flowed = mail("[PATCH 3/3] three", &of("; format=flowed", "7bit"), &flowed);
    let text = quoted + &base64 + &flowed;
    assert_eq!(subjects(&text).unwrap()[0], "for Jörg");
    for diff in diffs(&text) {
        assert!(diff.contains("\n-a = 1;\n+a = 2;\n"), "{diff}");
    }
}

#[test]
fn lines_of_a_message_that_begin_with_from_separate_no_mails() {
    let body = format!("Why.\n>From here on.\n\nFrom now on: x\n---\n{DIFF}");
    let text = mail("[PATCH 1/2] one", "", &body) + &patch("[PATCH 2/2] two");
    assert_eq!(subjects(&text).unwrap(), ["one", "two"]);
}

#[test]
fn the_commit_that_a_series_is_made_for_is_said() {
    let base = "base-commit: 444fc9435e57444fc9435e57444fc9435e574440";
    let cover = mail("[PATCH 0/1] x", "", &format!("Why.\n\n{base}\n"));
    let notes = given((cover + &patch("[PATCH 1/1] x")).as_bytes()).unwrap().notes;
    assert!(notes[1].starts_with("t.mbox: made for commit 444fc9435e57"), "{notes:?}");
    let one = mail("[PATCH] x", "", &format!("Why.\n---\n{DIFF}\n{base}\n-- \n2.50\n"));
    assert_eq!(given(one.as_bytes()).unwrap().notes.len(), 1);
}

#[test]
fn missing_patches_are_named() {
    for (numbers, lacks) in [
        (&[1, 3][..], "patch 2 of 3"),
        (&[2], "patches 1, 3 of 3"),
        (&[0], "patches 1 to 3 of 3"),
        (&[3, 0], "patches 1 to 2 of 3"),
    ] {
        let text: String =
            numbers.iter().map(|n| patch(&format!("[PATCH v2 {n}/3] x{n}"))).collect();
        let expected = format!("t.mbox: version 2 of the series lacks {lacks}");
        assert_eq!(subjects(&text).unwrap_err(), expected);
    }
    let huge = patch("[PATCH 4294967294/4294967295] x");
    let expected = "patches 1 to 4294967293, 4294967295 of 4294967295";
    assert!(subjects(&huge).unwrap_err().ends_with(expected));
}

/// Returns a patch with an identifier, which answers another mail.
fn answer(subject: &str, id: &str, to: &str) -> String {
    let headers = format!("Message-ID: <{id}@x>\nIn-Reply-To: <{to}@x>\n");
    mail(subject, &headers, &format!("Why.\n---\n{DIFF}"))
}

#[test]
fn patches_that_were_not_sent_anew_are_of_the_version_before() {
    let old: String = (0..=4)
        .map(|n| answer(&format!("[PATCH v2 {n}/4] old {n}"), &format!("old{n}"), "old0"))
        .collect();
    let new = answer("[PATCH v3 2/4] new 2", "new2", "old2");
    let taken = given((new.clone() + &old).as_bytes()).unwrap();
    let subjects_of = |given: &Given| -> Vec<String> {
        given.patches.iter().map(|patch| patch.subject.clone()).collect()
    };
    assert_eq!(subjects_of(&taken), ["old 1", "new 2", "old 3", "old 4"]);
    let note = "t.mbox: takes 4 patches, version 3 with patches 1, 3 to 4 of version 2, and \
                passes over 2 other mails";
    assert_eq!(taken.notes, [note]);

    // The next version answers a comment, and the one after replaces another patch.
    let comment = answer("Re: [PATCH v3 2/4] new 2", "comment", "new2");
    let newer = answer("[PATCH v4 2/4] newer 2", "newer2", "comment");
    let newest = answer("[PATCH v5 4/4] newest 4", "newest4", "old4");
    let taken = given((old.clone() + &new + &comment + &newer + &newest).as_bytes()).unwrap();
    assert_eq!(subjects_of(&taken), ["old 1", "newer 2", "old 3", "newest 4"]);
    let note = "version 5 with patch 2 of version 4 and with patches 1, 3 of version 2, and";
    assert!(taken.notes[0].contains(note), "{:?}", taken.notes);
}

#[test]
fn a_version_that_answers_nothing_of_the_same_number_is_not_filled() {
    let old: String = (1..=3)
        .map(|n| answer(&format!("[PATCH v2 {n}/3] old {n}"), &format!("old{n}"), "cover"))
        .collect();
    let circle = answer("Re: hello", "a", "b") + &answer("Re: hello", "b", "a");
    for (new, lacks) in [
        (patch("[PATCH v3 2/3] new"), "patches 1, 3 of 3"),
        (answer("[PATCH v3 2/3] new", "new", "old1"), "patches 1, 3 of 3"),
        (answer("[PATCH v3 2/3] new", "new", "a") + &circle, "patches 1, 3 of 3"),
        (answer("[PATCH v3 2/4] new", "new", "old2"), "patches 1, 3 to 4 of 4"),
        (answer("[PATCH v4 2/3] new", "new", "old2"), "patches 1, 3 of 3"),
    ] {
        let error = subjects(&(old.clone() + &new)).unwrap_err();
        assert!(error.ends_with(&format!("of the series lacks {lacks}")), "{error}");
    }
}

#[test]
fn a_patch_that_was_sent_again_is_taken_once() {
    let text = patch("[PATCH 1/2] x") + &patch("[PATCH 2/2] y") + &patch("[RESEND PATCH 2/2] y");
    assert_eq!(subjects(&text).unwrap(), ["x", "y"]);
}

#[test]
fn mails_that_are_no_series_are_refused() {
    let two = patch("[PATCH 1/2] x") + &patch("[PATCH 1/2] other") + &patch("[PATCH 2/2] y");
    let error = subjects(&two).unwrap_err();
    assert!(
        error.contains("`[PATCH 1/2] x` and `[PATCH 1/2] other` do not go together"),
        "{error}"
    );
    let lengths = patch("[PATCH 1/2] x") + &patch("[PATCH 2/3] y");
    assert!(subjects(&lengths).unwrap_err().contains("do not go together"));
    let text = patch("[PATCH 1/2] x") + &mail("[PATCH 2/2] y", "", "Attached.\n");
    assert_eq!(subjects(&text).unwrap_err(), "t.mbox: mail `[PATCH 2/2] y` has no diff");
    let talk = mail("hello", "", "hello") + &mail("Re: [PATCH] x", "", DIFF);
    let none = |text: &str, found: &str| {
        let error = subjects(text).unwrap_err();
        let expected = "expected a diff, or mails of `git format-patch`";
        assert_eq!(error, format!("t.mbox: there is no patch in {found}; {expected}"));
    };
    none(&talk, "its 2 mails");
    none(&mail("x", "", "x"), "its mail");
}

#[test]
fn an_archive_of_mails_is_refused_before_it_is_split() {
    let text = mail("hello", "", "hello").repeat(MOST_MAILS + 1);
    let error = subjects(&text).unwrap_err();
    assert!(
        error.starts_with("t.mbox: it has more than 4096 mails: expected one thread"),
        "{error}"
    );
    let many: String = (0..=MOST_PATCHES).map(|n| patch(&format!("[PATCH] x{n}"))).collect();
    let expected = "t.mbox: it has 513 patches: expected at most 512";
    assert_eq!(subjects(&many).unwrap_err(), expected);
}

#[test]
fn a_diff_that_is_no_mail_is_taken_whole_and_loses_line_ends_of_other_systems() {
    let text = format!("What it does: nothing.\n\n{DIFF}").replace('\n', "\r\n");
    let given = given(text.as_bytes()).unwrap();
    let [patch] = &given.patches[..] else { panic!("{given:?}") };
    assert_eq!(String::from_utf8_lossy(&patch.diff), format!("What it does: nothing.\n\n{DIFF}"));
}
