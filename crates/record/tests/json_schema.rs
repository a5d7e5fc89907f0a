//! The public JSON Schema, held to what the types write and read.

use jsonschema::Validator;
use pageout_record::schema::{RecordFile, json_schema};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SCHEMA: &str = include_str!("../../../docs/record.schema.json");
const STORED: [&str; 2] = [
    include_str!("../../lab/files/records/linux-6.12.json"),
    include_str!("../../lab/files/records/linux-7.3.json"),
];

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn validator() -> Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

/// Returns the first JSON block of the reference, which has one of everything.
fn example() -> Value {
    let text = include_str!("../../../docs/records.md");
    let (_, after) = text.split_once("```json\n").expect("a JSON block");
    serde_json::from_str(after.split_once("```").expect("its end").0).unwrap()
}

#[test]
fn it_accepts_the_example_and_the_stored_records() {
    let validator = validator();
    assert!(validator.is_valid(&example()));
    for text in STORED {
        let set = serde_json::from_str(text).unwrap();
        assert!(validator.validate(&set).is_ok());
        assert_eq!(RecordFile::from_json(text).unwrap().to_json().unwrap(), text, "as written");
    }
}

/// The file is what the types make. `INSTA_UPDATE=always` writes it anew.
#[test]
fn it_is_made_of_the_types() {
    let made = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write("../../docs/record.schema.json", &made).unwrap();
    } else {
        assert_eq!(SCHEMA, made, "stale: run this test with INSTA_UPDATE=always");
    }
}

/// Adds every place of a value to `found`, by its pointer.
fn places(of: &Value, at: String, found: &mut BTreeMap<String, Value>) {
    match of {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, format!("{at}/{name}"), found);
            }
        }
        Value::Array(all) => {
            for (index, value) in all.iter().enumerate() {
                places(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.insert(at, of.clone());
}

/// Removes each place of the example in turn, and puts something else there: what the one accepts
/// the other does, but for rules that a schema of this kind cannot hold.
#[test]
fn schema_and_reader_agree_on_every_small_change_of_the_example() {
    let (validator, example) = (validator(), example());
    let mut all = BTreeMap::new();
    places(&example, String::new(), &mut all);
    let others = [json!(null), json!(-1), json!(0.5), json!("x"), json!(" "), json!("\u{7}")];
    let others = [&others[..], &[json!([]), json!({}), json!([1]), json!({"x": "y"})]].concat();
    let ids =
        [json!("681BF4A3-C247-4114-88BE-0DAD03DA3D7C"), json!("681bf4a3c247411488be0dad03da3d7c")];
    let others = [&others[..], &ids].concat();
    let (mut agreed, mut accepted) = (0, 0);
    for place in all.keys().filter(|place| !place.is_empty()) {
        let (parent, name) = place.rsplit_once('/').unwrap();
        let mut changed: Vec<(String, Value)> = Vec::new();
        let mut without = example.clone();
        match without.pointer_mut(parent).expect("it is there") {
            Value::Object(fields) => drop(fields.remove(name)),
            Value::Array(list) => drop(list.remove(name.parse().unwrap())),
            _ => unreachable!("a parent"),
        }
        changed.push(("removed".to_owned(), without));
        for other in &others {
            let mut with = example.clone();
            *with.pointer_mut(place).expect("it is there") = other.clone();
            changed.push((other.to_string(), with));
        }
        for (what, value) in changed {
            let reader = RecordFile::from_json(&value.to_string());
            let message = reader.as_ref().err().map(ToString::to_string).unwrap_or_default();
            // Rules between places, and nothing where a field could be left out.
            let rules =
                ["goes from", "given before", "accepted here", "ascending", "a step is of actor"];
            let beyond = rules.iter().any(|rule| message.contains(rule));
            let left_out = ["null", "[]"].contains(&&*what) && reader.is_ok();
            // The reader takes a list for an object's fields in their order.
            let in_order = all[place].is_object() && what.starts_with('[') && reader.is_ok();
            if beyond || left_out || in_order {
                continue;
            }
            assert_eq!(validator.is_valid(&value), reader.is_ok(), "{place} {what}: {message}");
            agreed += 1;
            accepted += usize::from(reader.is_ok());
        }
    }
    assert!(agreed > 500 && accepted > 50, "{accepted} of {agreed}");
}
