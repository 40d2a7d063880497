// Loaded first: throws a clear error on an older run time, which would otherwise fail somewhere inside.
//   Bun and Deno also report a version of Node, the one that they imitate, so their own versions are checked first.

const RUN_TIMES = [
  { name: "Bun", key: "bun", needed: [1, 4] },
  { name: "Deno", key: "deno", needed: [2, 9] },
  { name: "Node", key: "node", needed: [24] },
] as const;

for (const { name, key, needed } of RUN_TIMES) {
  const version = process.versions[key];
  if (version === undefined) continue;
  if (isOlder(version, needed)) {
    throw new Error(
      `Perdure needs ${name} ${needed.join(".")} or later; this is ${name} ${version}.`,
    );
  }
  break;
}

function isOlder(version: string, [major, minor = 0]: readonly number[]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return ownMajor === major ? ownMinor < minor : ownMajor < (major ?? 0);
}
