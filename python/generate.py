"""Make `src/pageout/schema.py` of the JSON Schema of records."""

import json
import warnings
from pathlib import Path
from typing import Any

from datamodel_code_generator import InputFileType, generate
from datamodel_code_generator.enums import DataModelType
from datamodel_code_generator.format import Formatter, PythonVersion
from datamodel_code_generator.parser import LiteralType

HERE = Path(__file__).parent
SCHEMA = HERE.parent / "docs" / "record.schema.json"
MADE = HERE / "src" / "pageout" / "schema.py"

HEADER = '"""The record format (docs/records.md), made by generate.py."""\n'

# Which parts go together and what texts hold is the program's to check: it reads every file. What
# fields mean is in docs/records.md.
LEFT_OUT = (
    "description",
    *("oneOf", "if", "then", "dependentRequired", "pattern", "propertyNames", "minProperties"),
)


def made() -> str:
    """The module's text."""
    schema = _simplified(json.loads(SCHEMA.read_text()))
    with warnings.catch_warnings():
        # An integer of 64 bits without a sign has a limit that msgspec cannot hold.
        warnings.filterwarnings("ignore", "msgspec.Meta takes the number constraints")
        made = generate(
            schema,
            input_file_type=InputFileType.JsonSchema,
            output_model_type=DataModelType.MsgspecStruct,
            target_python_version=PythonVersion.PY_311,
            formatters=[Formatter.BUILTIN],
            class_name="RecordFile",
            custom_file_header=HEADER,
            enum_field_as_literal=LiteralType.All,
            field_constraints=True,
            keyword_only=True,
            use_standard_collections=True,
            use_union_operator=True,
        )
    if not isinstance(made, str):
        raise TypeError(made)
    return made.rstrip() + "\n"


def _simplified(of: Any) -> Any:  # noqa: ANN401 - any JSON
    match of:
        case dict():
            return {key: _simplified(part) for key, part in of.items() if key not in LEFT_OUT}
        case list():
            return [_simplified(part) for part in of]
        case _:
            return of


if __name__ == "__main__":
    MADE.write_text(made())
