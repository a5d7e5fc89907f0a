//! A reference string as oracleGeneral.

use super::PAGE_BYTES;
use crate::decoded::Decoded;
use crate::demand_min::DemandMin;
use crate::error::WriteError;
use crate::output::OutputFile;
use crate::reference_string::PageStep;
use crate::room::NoRoom;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a trace's reference string to `path`, and returns the number of its records. Objects are
/// pages by their numbers in the string, from 1, since libCacheSim's reader of text refuses 0. The
/// time is the number of epochs that ended before. The output is compressed if the name ends in
/// `.zst`.
///
/// # Errors
/// [`WriteError`]; then `path` is as it was before.
pub fn export(decoded: &Decoded, path: &Path) -> Result<u64, WriteError> {
    let mut file = OutputFile::create(path)?;
    if path.extension().is_some_and(|extension| extension == "zst") {
        let mut compressed = zstd::stream::write::Encoder::new(&mut file, 0)?;
        write(decoded, &mut compressed)?;
        compressed.finish()?;
    } else {
        write(decoded, &mut file)?;
    }
    file.commit()?;
    Ok(decoded.string().pages().len() as u64)
}

fn write(decoded: &Decoded, output: impl Write) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    let min = DemandMin::of(decoded.string()).map_err(|NoRoom| io::ErrorKind::OutOfMemory)?;
    let mut next_uses = min.next_uses();
    let mut epochs: u32 = 0;
    decoded.play(|step| match step {
        PageStep::Access { page, .. } => {
            let next = next_uses.next().expect("each access has its next use");
            let next = next.map_or(-1, |next| i64::from(next) + 1);
            output.write_all(&epochs.to_le_bytes())?;
            output.write_all(&(u64::from(page) + 1).to_le_bytes())?;
            output.write_all(&PAGE_BYTES.to_le_bytes())?;
            output.write_all(&next.to_le_bytes())
        }
        PageStep::EpochEnds(nr) => {
            epochs = epochs.saturating_add(nr);
            Ok(())
        }
        PageStep::Change(_) => Ok(()),
    })?;
    output.flush()
}
