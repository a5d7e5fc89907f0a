//! The JSON Schema of the format, made of the types.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::read::Whole;
use super::types::VERSION;

/// Returns the JSON Schema of record files.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = generator.subschema_for::<Whole>();
    let mut definitions = Value::Object(generator.take_definitions(true));
    simplify(&mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("pageout record file, version {VERSION}"),
        "description": "docs/records.md has the rules that go beyond this schema.",
        "$ref": root.get("$ref"),
        "$defs": definitions,
    })
}

/// Removes what readers of JSON do not need: defaults, types and links of Rust, and the
/// descriptions of the names of a closed set, which becomes a list.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let names = fields.get("oneOf").and_then(Value::as_array).and_then(|all| {
                all.iter().map(|one| one.get("const").cloned()).collect::<Option<Vec<Value>>>()
            });
            if let Some(names) = names {
                fields.remove("oneOf");
                fields.insert("enum".to_owned(), names.into());
            }
            ["default", "format"].iter().for_each(|key| drop(fields.remove(*key)));
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(all) => all.iter_mut().for_each(simplify),
        _ => {}
    }
}
