// Change files are folded into the release notes without loss.

import { expect, test } from "vitest";
import { foldChanges } from "../../../scripts/changes/fold.ts";

const LOG = `# Changelog

## Unreleased

### Added

- One.

## 0.1.0 (2026-01-01)

### Added

- Everything.
`;
const RELEASE = { version: "0.2.0", date: "2026-12-01" };

test("change files are merged with the Unreleased section, by kind, above older versions", () => {
  const files = [
    { path: "a.md", text: "Fixed\n\n- A bug.\n" },
    { path: "b.md", text: "Added\n\n- Two.\n  On two lines.\n" },
  ];
  expect(foldChanges(LOG, files, RELEASE)).toBe(`# Changelog

## Unreleased

## 0.2.0 (2026-12-01)

### Added

- One.
- Two.
  On two lines.

### Fixed

- A bug.

## 0.1.0 (2026-01-01)

### Added

- Everything.
`);
});

test("a first release without change files takes the Unreleased section", () => {
  const first = LOG.slice(0, LOG.indexOf("\n## 0.1.0"));
  expect(foldChanges(first, [], RELEASE)).toContain("## 0.2.0 (2026-12-01)\n\n### Added\n\n- One.");
});

test.each([
  ["a file without a kind", [{ path: "x.md", text: "- A bug." }], RELEASE, /x\.md/],
  ["a kind without a list", [{ path: "x.md", text: "Fixed\n\nA bug." }], RELEASE, /x\.md/],
  ["an invalid version", [], { ...RELEASE, version: "next" }, /no version/],
  ["an invalid date", [], { ...RELEASE, date: "today" }, /no date/],
])("%s is refused", (_what, files, release, message) => {
  expect(() => foldChanges(LOG, files, release)).toThrow(message);
});

test("a release without changes is refused", () => {
  const empty = LOG.replace("### Added\n\n- One.\n\n", "");
  expect(() => foldChanges(empty, [], RELEASE)).toThrow(/nothing to release/);
});
