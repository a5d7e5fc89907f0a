//! The kinds of texts and numbers in the JSON Schema, and its rules on metrics.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::labels::Labels;

/// The pattern of a text without control characters.
const PRINTABLE: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// The pattern of such a text that is not blank.
const NOT_BLANK: &str = concat!(
    r"^[^\u0000-\u001f\u007f-\u009f]*",
    r"[^\s\u0000-\u001f\u007f-\u009f]",
    r"[^\u0000-\u001f\u007f-\u009f]*$"
);

/// Declares the schema of a kind of value that many fields have.
macro_rules! kind {
    ($kind:ident, $name:literal, $schema:expr) => {
        pub(crate) struct $kind;

        impl JsonSchema for $kind {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

kind!(
    Text,
    "text",
    json_schema!({
        "description": "Holds no control characters.", "type": "string", "pattern": PRINTABLE
    })
);
kind!(
    Name,
    "name",
    json_schema!({
        "description": "A text that is not blank.", "type": "string", "pattern": NOT_BLANK
    })
);
kind!(
    Cells,
    "cells",
    json_schema!({
        "description": "A number, or null where there is nothing to show.",
        "type": "array",
        "items": { "type": ["number", "null"] }
    })
);
kind!(U64, "u64", json_schema!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }));

impl JsonSchema for Labels {
    fn schema_name() -> Cow<'static, str> {
        "labels".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<Name>(),
            "additionalProperties": generator.subschema_for::<Text>(),
        })
    }
}

/// Returns what no type of a [`Metric`](super::Metric)'s fields says: which fields go together.
pub(super) fn one_content() -> Value {
    ["values", "bound", "claim", "activities", "series", "matrix", "sequence"]
        .map(|name| json!({ "required": [name] }))
        .into_iter()
        .collect()
}

/// Returns the condition under which a metric is quoted from a source.
pub(super) fn is_quoted() -> Value {
    json!({ "anyOf": [
        { "properties": { "basis": { "const": "published" } } },
        { "required": ["bound"] },
        { "required": ["claim"] },
    ] })
}

/// Returns the demands on a metric that is quoted.
pub(super) fn quoted() -> Value {
    json!({ "required": ["source"], "properties": { "basis": { "const": "published" } } })
}
