// Labels of rules: a rule in a comment that is cited elsewhere has a label such as `committer.3`. Each label is defined
// once in the repository, and every citation leads to a definition.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSources } from "../support/source-files.ts";
import type { SourceText } from "../support/source-scan.ts";

const DEFINITION = /^\s*(?:\/\/|--|\*)\s+- (?<label>(?:[a-z][a-z0-9-]*\.)+\d+): /;
const LABEL = /(?<![\w./`"'-])(?:[a-z][a-z0-9-]*\.)+\d+(?!\w|\.\d)/g;
/** Labels in the old form, one to three capitals and a number. Documents define them: */
const CAPITALS = /(?<![\w."'`$%/\\-])(?<kind>[A-Z]{1,3})(?<number>\d+)(?![\w'"`$/-])/g;
const DOCUMENTED: Readonly<Record<string, string>> = {
  C: "docs/simulation.md",
  I: "ARCHITECTURE.md",
  P: "docs/semantics.md",
  S: "docs/security.md",
  T: "docs/contributing/parity-flows.md",
  W: "docs/benchmarks.md",
};
/** Not labels: names of control characters, of a Unicode property, of a compiler error, of an engine. */
const NO_LABELS = new Set(["C0", "C1", "D8", "DE89", "TS2304", "V8", "E2"]);

const sources = readSources("{src,test,bench,scripts,demo,examples,ui}/**/*.{ts,tsx,sql}").filter(
  ({ path }) => !path.startsWith("test/histories/") && !path.includes("node_modules"),
);
const definitions = new Map<string, string[]>();
for (const { path, text } of sources) {
  for (const [number, line] of text.split("\n").entries()) {
    const label = DEFINITION.exec(line)?.groups?.["label"];
    if (label === undefined) continue;
    definitions.set(label, [...(definitions.get(label) ?? []), `${path}:${number + 1}`]);
  }
}
const scopes = new Set([...definitions.keys()].map((label) => label.replace(/\.\d+$/, "")));

test("labels are found", () => {
  expect(definitions.size).toBeGreaterThan(0);
});

test("every label is defined once", () => {
  const repeated = [...definitions].filter(([, places]) => places.length > 1);
  expect(repeated).toEqual([]);
});

test("every citation of a rule leads to its definition", () => {
  const broken = inComments(LABEL, (label) => {
    return scopes.has(label.replace(/\.\d+$/, "")) && !definitions.has(label);
  });
  expect(broken).toEqual([]);
});

test("every label is cited", () => {
  const cited = new Set<string>();
  for (const { text } of sources) {
    for (const line of text.split("\n")) {
      const own = DEFINITION.exec(line)?.groups?.["label"];
      for (const [label] of line.matchAll(LABEL)) if (label !== own) cited.add(label);
    }
  }
  expect([...definitions.keys()].filter((label) => !cited.has(label))).toEqual([]);
});

test("a label of capitals and a number is defined in the document of its kind", () => {
  const documents = new Map(
    Object.entries(DOCUMENTED).map(([kind, path]) => [kind, readFileSync(path, "utf8")]),
  );
  const broken = inComments(CAPITALS, (label, { kind = "" }) => {
    if (NO_LABELS.has(label)) return false;
    return !new RegExp(`\\b${label}\\b`).test(documents.get(kind) ?? "");
  });
  expect(broken).toEqual([]);
});

test("every rule of semantics that is cited exists", () => {
  const page = readFileSync("docs/semantics.md", "utf8");
  const rules = new Set(
    [...page.matchAll(/^(?:\s+- \*\*)?(\d+[a-z]?)\./gm)].map(([, rule]) => rule),
  );
  const broken = inComments(/semantics (\d+[a-z]?)/g, (text) => !rules.has(text.slice(10)));
  expect(broken).toEqual([]);
});

function inComments(
  pattern: RegExp,
  isBroken: (found: string, groups: Readonly<Record<string, string>>) => boolean,
): string[] {
  return sources.flatMap((source) =>
    commentsOf(source).flatMap(([number, comment]) =>
      [...comment.matchAll(pattern)]
        .filter((match) => isBroken(match[0], match.groups ?? {}))
        .map(([found]) => `${source.path}:${number} ${found}`),
    ),
  );
}

function commentsOf({ text }: SourceText): (readonly [number, string])[] {
  return text.split("\n").flatMap((line, index) => {
    const start = line.search(/(?:^|\s)(?:\/\/|--|\*|\/\*\*?)\s/);
    return start === -1 ? [] : [[index + 1, line.slice(start)] as const];
  });
}
