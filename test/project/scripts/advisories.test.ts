// Which advisories affect the packages of a lock file.

import { expect, test } from "vitest";
import { findingsOf, installedPackages, type Advisory } from "../../../scripts/lock/advisories.ts";

const lock = {
  packages: {
    "": { name: "project", version: "1.0.0" },
    "node_modules/server": { version: "2.1.6" },
    "node_modules/server/node_modules/@scope/part": { version: "1.0.0", dev: true },
    "node_modules/alias": { name: "real", version: "0.3.0" },
    "node_modules/workspace": { version: "1.0.0", link: true },
  },
};

/** The ids of the packages that an advisory with these events affects. */
function affected(name: string, events: readonly object[], more: object = {}): string[] {
  const ranges = [{ type: "SEMVER", events }];
  const advisory = {
    id: "A-1",
    affected: [{ package: { ecosystem: "npm", name }, ranges }],
    ...more,
  };
  return findingsOf(installedPackages(lock), advisory as Advisory).map(
    ({ installed }) => `${installed.name}@${installed.version}`,
  );
}

test("a lock file's packages are found in nested folders and under their real names", () => {
  expect(installedPackages(lock)).toEqual([
    { name: "server", version: "2.1.6", isDevelopment: false },
    { name: "@scope/part", version: "1.0.0", isDevelopment: true },
    { name: "real", version: "0.3.0", isDevelopment: false },
  ]);
});

test.each([
  [[{ introduced: "0" }, { fixed: "2.1.7" }], true],
  [[{ introduced: "0" }, { fixed: "2.1.6" }], false],
  [[{ introduced: "2.1.6" }], true],
  [[{ introduced: "2.2.0" }], false],
  [[{ introduced: "1.0.0" }, { last_affected: "2.1.6" }], true],
  [[{ introduced: "1.0.0" }, { last_affected: "2.1.5" }], false],
  [[{ introduced: "0" }, { fixed: "1.5.0" }, { introduced: "2.0.0" }, { fixed: "2.3.0" }], true],
  [[{ introduced: "0" }, { fixed: "1.5.0" }, { introduced: "2.2.0" }], false],
  [[{ introduced: "not a version" }], true],
])("server 2.1.6 in the range %j: %s", (events, isAffected) => {
  expect(affected("server", events)).toEqual(isAffected ? ["server@2.1.6"] : []);
});

test("versions can be listed, and withdrawn advisories and other ecosystems do not count", () => {
  const all = [{ introduced: "0" }];
  expect(affected("@scope/part", all)).toEqual(["@scope/part@1.0.0"]);
  expect(affected("real", all, { withdrawn: "2026-01-01T00:00:00Z" })).toEqual([]);
  const listed = (ecosystem: string): Advisory => ({
    id: "A-2",
    affected: [{ package: { ecosystem, name: "real" }, versions: ["0.2.0", "0.3.0"] }],
  });
  expect(findingsOf(installedPackages(lock), listed("npm"))).toHaveLength(1);
  expect(findingsOf(installedPackages(lock), listed("PyPI"))).toHaveLength(0);
});
