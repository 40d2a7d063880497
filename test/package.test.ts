// The files that describe the package agree with each other.

import { readFileSync } from "node:fs";
import { join, matchesGlob, posix } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { projectRoot } from "./support/source-files.ts";

interface Manifest {
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}
interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}
interface LockEntry {
  readonly resolved?: string;
  /** A workspace of our own. */
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("tsconfig.json knows the package by the names that package.json exports", () => {
  const fromExports: Record<string, string[]> = {};
  for (const [subpath, target] of Object.entries(read<Manifest>("package.json").exports)) {
    if (typeof target === "string") continue; // package.json itself
    const source = target.types.replace("./dist/", "./src/").replace(/\.d\.ts$/, ".ts");
    fromExports[posix.join("perdure", subpath)] = [source];
  }
  const config = ts.readConfigFile(join(projectRoot, "tsconfig.json"), text).config as {
    compilerOptions: { paths: Record<string, string[]> };
  };
  expect(config.compilerOptions.paths).toEqual(fromExports);
});

test("only the server, the command line and schedules have runtime dependencies (decisions 0012, 0018)", () => {
  const { dependencies = {} } = read<Manifest>("package.json");
  expect(Object.keys(dependencies).toSorted()).toEqual([
    "@hono/node-server",
    "@valibot/to-json-schema",
    "commander",
    "croner",
    "hono",
    "valibot",
  ]);
});

test("the lock file holds every platform's binaries; `node scripts/complete-lock.ts` adds them", () => {
  const { packages } = read<Lock>("package-lock.json");
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});

test("the lock file names no registry, so that it installs from whichever is set", () => {
  const { packages } = read<Lock>("package-lock.json");
  const named = Object.entries(packages).filter(([, { resolved, link }]) => resolved && !link);
  expect(named.map(([path]) => path)).toEqual([]);
});

test("what README.md links to is in the package, or said to be in the repository alone", () => {
  const [packed = "", repository = ""] = text(join(projectRoot, "README.md")).split(
    "In the repository, and not in the package:",
  );
  expect(linksOf(packed).filter((path) => !isPacked(path))).toEqual([]);
  const elsewhere = linksOf(repository.split("\n\n").at(1) ?? "");
  expect(elsewhere.length).toBeGreaterThan(0);
  expect(elsewhere.filter(isPacked)).toEqual([]);
});

/** The files that a page leads to; its pictures say in words what they show. */
function linksOf(page: string): string[] {
  const targets = [...page.matchAll(/(?<!!)\[[^\]]*\]\((?<to>[^)#]+)/g)].map(
    ({ groups }) => groups?.["to"] ?? "",
  );
  return targets.filter((target) => !/^\w+:/.test(target));
}

function isPacked(path: string): boolean {
  const { files } = read<Manifest>("package.json");
  const isIn = (pattern: string): boolean =>
    matchesGlob(path, pattern) || posix.join(path, "/").startsWith(posix.join(pattern, "/"));
  const left = files.filter((entry) => entry.startsWith("!")).map((entry) => entry.slice(1));
  return !left.some(isIn) && files.some(isIn);
}

function read<Shape>(file: string): Shape {
  return JSON.parse(text(join(projectRoot, file))) as Shape;
}

function text(path: string): string {
  return readFileSync(path, "utf8");
}
