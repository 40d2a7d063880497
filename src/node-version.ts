// Loaded first: throws a clear error on an older Node, which would otherwise fail somewhere inside.

const MAJOR_MIN = 24;

const major = Number(process.versions.node.split(".")[0]);
if (major < MAJOR_MIN) {
  throw new Error(
    `Perdure needs Node ${MAJOR_MIN} or later; this is Node ${process.versions.node}.`,
  );
}
