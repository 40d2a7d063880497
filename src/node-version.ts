// The first thing that is loaded: says in a sentence what an older Node would say by failing somewhere inside.

const MAJOR_MIN = 24;

const major = Number(process.versions.node.split(".")[0]);
if (major < MAJOR_MIN) {
  throw new Error(
    `Perdure needs Node ${MAJOR_MIN} or later; this is Node ${process.versions.node}.`,
  );
}
