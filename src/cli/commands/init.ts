// perdure init: a config and a first orchestration for an existing project.
//   IT1. Nothing is overwritten: if one of the files exists, none is written. A tsconfig.json that exists stays as it is.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CONFIG_NAMES } from "../config-file.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { COMPILER_OPTIONS, initFiles, type InitChoices } from "../init-files.ts";
import { bold, dim, green } from "../screen.ts";

/** What a tsconfig.json needs so that imports of other files compile and Node runs what compiles. */
const FOR_NODE: Readonly<Record<string, boolean>> = {
  noEmit: COMPILER_OPTIONS.noEmit,
  allowImportingTsExtensions: COMPILER_OPTIONS.allowImportingTsExtensions,
  verbatimModuleSyntax: COMPILER_OPTIONS.verbatimModuleSyntax,
  erasableSyntaxOnly: COMPILER_OPTIONS.erasableSyntaxOnly,
};

interface InitOptions {
  readonly store: string;
  readonly js?: true;
}
interface Manifest {
  readonly type?: unknown;
  readonly dependencies?: Readonly<Record<string, unknown>>;
}

export function addInit(program: Program): void {
  defineCommand<InitOptions>(
    program,
    {
      usage: "init",
      summary: "add a config and a first orchestration to a project",
      description:
        "Writes perdure.config.ts and orchestrations/hello.ts into the current directory, and a tsconfig.json if there " +
        "is none. Overwrites nothing.",
      examples: [
        ["perdure init", "on a SQLite file, ./perdure.db"],
        ["perdure init --store sqlite:./data/orders.db", "on another one"],
        ["perdure init --js", "in JavaScript"],
      ],
      hasStore: false,
    },
    async ({ cli, options }) => {
      const manifest = readManifest(cli.cwd);
      const extension = extensionOf(manifest, options.js === true);
      const isThere = (path: string): boolean => existsSync(join(cli.cwd, path));
      const all = initFiles({ store: options.store, extension });
      const kept = all.filter(({ path, isShared }) => isShared === true && isThere(path));
      const files = all.filter((file) => !kept.includes(file));
      const taken = [...CONFIG_NAMES, ...files.map(({ path }) => path)].find(isThere);
      if (taken !== undefined) {
        throw new CliError("FILE_EXISTS", `${taken} exists already. Nothing was written.`);
      }
      for (const { path, text } of files) {
        mkdirSync(dirname(join(cli.cwd, path)), { recursive: true });
        writeFileSync(join(cli.cwd, path), text, { flag: "wx" });
      }
      if (options.json === true) {
        cli.out.document({ store: options.store, files: files.map(({ path }) => path) });
        return 0;
      }
      for (const { path } of files) cli.out.line(green("✓ "), path);
      for (const { path } of kept) {
        const own = Object.entries(FOR_NODE).map(([name, value]) => `${name}: ${value}`);
        cli.out.line(
          dim(`  ${path} is there already; Node needs these options: ${own.join(", ")}`),
        );
      }
      const next = [
        ...(manifest.dependencies?.["perdure"] === undefined ? ["npm install perdure"] : []),
        "npx perdure dev",
        `npx perdure start hello --input '"ada"' --id hello-1`,
        `npx perdure raise hello-1 answer --data '"hi"'`,
      ];
      cli.out.line();
      cli.out.line(bold("Next:"));
      for (const line of next) cli.out.line("  ", line);
      const ignored = "Keep the store out of version control: *.db, *.db-wal, *.db-shm.";
      if (options.store.startsWith("sqlite:")) cli.out.line(dim(ignored));
      return 0;
    },
  )
    .option("--store <address>", "the store's address", "sqlite:./perdure.db")
    .option("--js", "write JavaScript");
}

/** The nearest package.json: what the project is. */
function readManifest(directory: string): Manifest {
  for (let folder = directory; ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path)) {
      try {
        return JSON.parse(readFileSync(path, "utf8")) as Manifest;
      } catch (cause) {
        throw new CliError("USAGE", `${path} is not JSON.`, { cause });
      }
    }
    if (dirname(folder) === folder) {
      const message = `There is no package.json in ${directory} or above it. "npm init" makes one.`;
      throw new CliError("USAGE", message);
    }
  }
}

/** Where files are CommonJS unless they say otherwise, theirs says otherwise. */
function extensionOf({ type }: Manifest, isJs: boolean): InitChoices["extension"] {
  if (isJs) return "mjs";
  return type === "module" ? "ts" : "mts";
}
