// The files that describe the package agree with each other.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join, matchesGlob, posix } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { repositoryAddress, repositoryPath } from "../../scripts/site/repository.ts";
import { projectRoot } from "../support/source-files.ts";

interface Manifest {
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}
interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}
interface LockEntry {
  readonly resolved?: string;
  /** A workspace of this repository. */
  readonly link?: boolean;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("tsconfig.json maps the names that package.json exports", () => {
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

test("the lock file contains the binaries of every platform; `node scripts/lock/complete-lock.ts` adds them", () => {
  const { packages } = read<Lock>("package-lock.json");
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});

test("the lock file names no registry, so that it works with any configured registry", () => {
  const { packages } = read<Lock>("package-lock.json");
  const named = Object.entries(packages).filter(([, { resolved, link }]) => resolved && !link);
  expect(named.map(([path]) => path)).toEqual([]);
});

test("installing the package brings these packages and no others, with permissive licences and no install script", () => {
  const { packages } = read<Lock>("package-lock.json");
  const left = Object.keys(read<Manifest>("package.json").dependencies ?? {});
  const brought = new Map<string, LockEntry>();
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    const entry = packages[`node_modules/${name}`];
    if (entry === undefined) throw new Error(`the lock file lacks ${name}`);
    if (brought.has(name)) continue;
    brought.set(name, entry);
    left.push(...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }));
  }
  const facts = [...brought].map(([name, { version, license, integrity, hasInstallScript }]) => ({
    name,
    license,
    isExact: /^\d+\.\d+\.\d+$/.test(version ?? ""),
    isChecked: integrity?.startsWith("sha512-"),
    hasInstallScript,
  }));
  const sound = { license: "MIT", isExact: true, isChecked: true, hasInstallScript: undefined };
  expect(facts.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: "@hono/node-server", ...sound },
    { name: "@valibot/to-json-schema", ...sound },
    { name: "commander", ...sound },
    { name: "croner", ...sound },
    { name: "hono", ...sound },
    { name: "valibot", ...sound },
  ]);
});

test("every locked package has a checksum; `node scripts/lock/complete-lock.ts` adds those that the registry has", () => {
  const { packages } = read<Lock>("package-lock.json");
  const unchecked = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.includes("node_modules/") && !integrity && !link,
  );
  // Binaries of platforms whose packages the registry did not have, for the linter's resolver.
  const known = unchecked.filter(
    ([path, { dev, os }]) =>
      path.startsWith("node_modules/@unrs/resolver-binding-") && dev === true && os !== undefined,
  );
  expect(unchecked).toEqual(known);
  expect(known.length).toBeLessThan(20);
});

test("only the packages that package.json allows run code at installation, and all licences are permissive", () => {
  const { packages } = read<Lock>("package-lock.json");
  const names = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  const { allowScripts } = read<Manifest>("package.json");
  expect(names.map(([path]) => path.replace("node_modules/", ""))).toEqual(
    expect.arrayContaining(Object.keys(allowScripts)),
  );
  expect(names).toHaveLength(Object.keys(allowScripts).length);
  const licences = new Set(Object.values(packages).flatMap(({ license }) => license ?? []));
  // MPL-2.0: axe-core and lightningcss, tools of the development that are not in the package.
  expect([...licences].toSorted()).toEqual([
    ...["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT", "MPL-2.0"],
    "PSF-2.0",
  ]);
});

test("every relative link of a packed page leads to a packed file", () => {
  const pages = globSync(["*.md", "llms.txt", "docs/**/*.md"], { cwd: projectRoot }).filter(
    isPacked,
  );
  expect(pages.length).toBeGreaterThan(30);
  const dead = pages.flatMap((page) =>
    linksOf(text(join(projectRoot, page)))
      .filter((target) => !/^\w+:/.test(target))
      .map((target) => posix.join(posix.dirname(page), target))
      .filter((path) => !isPacked(path) || !existsSync(join(projectRoot, path)))
      .map((path) => `${page}: ${path}`),
  );
  expect(dead).toEqual([]);
});

test("every repository link leads to an existing file that is not in the package", () => {
  const pages = globSync(["*.md", "llms.txt", "docs/**/*.md"], { cwd: projectRoot });
  const named = pages.flatMap((page) =>
    linksOf(text(join(projectRoot, page))).flatMap((target) => {
      const path = repositoryPath(target);
      return path === null ? [] : [{ page, path, target }];
    }),
  );
  expect(named.length).toBeGreaterThan(0);
  const wrong = named.filter(
    ({ path, target }) =>
      !existsSync(join(projectRoot, path)) || isPacked(path) || repositoryAddress(path) !== target,
  );
  expect(wrong).toEqual([]);
});

test("a packed page that names a file outside the package links to it, or to its folder", () => {
  const pages = globSync(["*.md", "docs/**/*.md"], { cwd: projectRoot }).filter(isPacked);
  const unlinked = pages.flatMap((page) => {
    const whole = text(join(projectRoot, page));
    const linked = linksOf(whole).flatMap((target) => repositoryPath(target) ?? []);
    const named = whole.matchAll(
      /`(?<path>(?:bench|demo|examples|scripts|src|test|ui)\/[^`\s]*)`/g,
    );
    return [...named]
      .map(({ groups }) => groups?.["path"] ?? "")
      .filter((path) => !linked.some((to) => `${path}/`.startsWith(`${posix.join(to)}/`)))
      .map((path) => `${page}: ${path}`);
  });
  expect(unlinked).toEqual([]);
});

test("package.json has homepage, repository and bugs addresses", () => {
  const { homepage, repository, bugs } = read<Record<string, unknown>>("package.json");
  expect(homepage).toMatch(/^https:/);
  expect(repository).toMatchObject({ type: "git" });
  expect(bugs).toMatch(/^https:/);
});

/** The targets of links and images of a page, without anchors; code blocks contain no links. */
function linksOf(page: string): string[] {
  const prose = page.replaceAll(/^```[^]*?^```$/gm, "");
  const found = prose.matchAll(/\]\((?<to>[^)\s#]+)|(?:src|href)="(?<at>[^"#]+)"/g);
  return [...found].map(({ groups }) => groups?.["to"] ?? groups?.["at"] ?? "");
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
