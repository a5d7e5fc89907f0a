//! The plan of a sweep: its cells in their order, each with an id computed from its content.

use crate::cell::Cell;
use pageout_record::schema::Run;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use uuid::Uuid;

/// The bytes of an id: enough that no two cells ever share one.
const ID_BYTES: usize = 16;

/// The name of the schema in a plan's file.
const SCHEMA: &str = "pageout-sweep";
const VERSION: u32 = 1;

/// The hash of a cell and of everything that determines its figures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(String);

/// A cell with its id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The cell's id.
    pub id: CellId,
    /// The cell.
    pub cell: Cell,
}

/// The cells to run, and the build to run them with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    schema: String,
    version: u32,
    /// Name and version of the program.
    tool: String,
    /// The commit that the program was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Checksums of the traces and platforms that cells name, as `trace NAME`.
    inputs: BTreeMap<String, String>,
    /// The cells in the order in which they are merged.
    cells: Vec<Planned>,
}

/// The reason why there is no plan, or why it cannot be run here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// Two cells are the same.
    #[error("cell `{0}` is there twice: each is accepted once")]
    Twice(String),
    /// The file is no plan of this version.
    #[error("it is not a plan of a sweep that this program reads: {0}")]
    NotAPlan(String),
    /// The plan was changed by hand.
    #[error("cell `{0}` is not what its id says: plan the sweep again in another directory")]
    Changed(String),
    /// The plan is of another build.
    #[error(
        "the sweep was planned by {planned}, and this is {here}: run that one, or plan the sweep \
         again in another directory"
    )]
    Build {
        /// The build that planned it.
        planned: String,
        /// The build that is to run it.
        here: String,
    },
    /// A trace or platform has changed.
    #[error("{0} has changed since the sweep was planned: plan it again in another directory")]
    Input(String),
}

impl Plan {
    /// Returns the plan of these cells for a build. `inputs` has the checksums of the inputs that
    /// they name, as `trace NAME` or `platform NAME`.
    ///
    /// # Errors
    /// [`PlanError::Twice`].
    pub fn new(
        run: &Run,
        inputs: BTreeMap<String, String>,
        cells: Vec<Cell>,
    ) -> Result<Self, PlanError> {
        let (schema, tool, commit) = (SCHEMA.to_owned(), run.tool.clone(), run.commit.clone());
        let mut plan = Self { schema, version: VERSION, tool, commit, inputs, cells: Vec::new() };
        let mut ids = BTreeSet::new();
        for cell in cells {
            let id = plan.id(&cell);
            if !ids.insert(id.clone()) {
                return Err(PlanError::Twice(cell.to_string()));
            }
            plan.cells.push(Planned { id, cell });
        }
        Ok(plan)
    }

    /// Reads a plan that [`Plan::to_json`] wrote.
    ///
    /// # Errors
    /// [`PlanError::NotAPlan`] or [`PlanError::Changed`].
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(text).map_err(|error| PlanError::NotAPlan(error.to_string()))?;
        if plan.schema != SCHEMA || plan.version != VERSION {
            let found = format!("found {} of version {}", plan.schema, plan.version);
            return Err(PlanError::NotAPlan(found));
        }
        match plan.cells.iter().find(|planned| plan.id(&planned.cell) != planned.id) {
            Some(changed) => Err(PlanError::Changed(changed.cell.to_string())),
            None => Ok(plan),
        }
    }

    /// Returns the plan as indented JSON.
    ///
    /// # Panics
    /// Never: texts and numbers can be written.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written") + "\n"
    }

    /// Returns the cells, in the order in which they are merged.
    pub fn cells(&self) -> &[Planned] {
        &self.cells
    }

    /// Checks that this build made the plan, and that these inputs have not changed.
    ///
    /// # Errors
    /// [`PlanError::Build`] or [`PlanError::Input`].
    pub fn check(&self, run: &Run, inputs: &BTreeMap<String, String>) -> Result<(), PlanError> {
        let build = |tool: &str, commit: &Option<String>| {
            format!("{tool}, commit {}", commit.as_deref().unwrap_or("unknown"))
        };
        let (planned, here) = (build(&self.tool, &self.commit), build(&run.tool, &run.commit));
        if planned != here {
            return Err(PlanError::Build { planned, here });
        }
        match inputs.iter().find(|(name, checksum)| self.inputs.get(*name) != Some(*checksum)) {
            Some((name, _)) => Err(PlanError::Input(name.clone())),
            None => Ok(()),
        }
    }

    /// Returns the id of a cell: a hash of the build, the cell, and the content of its inputs.
    fn id(&self, cell: &Cell) -> CellId {
        let named = [("trace", &cell.trace), ("platform", &cell.platform)];
        let named =
            named.map(|(what, name)| self.inputs.get(&format!("{what} {}", name.as_ref()?)));
        let content = serde_json::to_vec(&(&self.tool, &self.commit, named, cell));
        let hash = Sha256::digest(content.expect("texts and numbers can be written"));
        CellId(hexadecimal(&hash[..ID_BYTES]))
    }
}

/// Returns the checksum of an input: SHA-256.
pub fn checksum(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl CellId {
    /// Returns the id of a run that can be repeated exactly: it is the cell's.
    ///
    /// # Panics
    /// Never: an id has the right number of hexadecimal digits.
    pub(crate) fn run(&self) -> Uuid {
        let number = u128::from_str_radix(&self.0, 16).expect("an id is a hexadecimal number");
        uuid::Builder::from_custom_bytes(number.to_be_bytes()).into_uuid()
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
