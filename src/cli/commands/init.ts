// perdure init: adds a config and a first orchestration to an existing project.
//   - The command overwrites nothing. If the config or the orchestration file exists, it writes no file at
//        all.
//   - An existing tsconfig.json stays unchanged; the command then prints the options that Node needs.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CONFIG_NAMES } from "../store/config-file.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { COMPILER_OPTIONS, initFiles, type InitChoices } from "../init-files.ts";
import { bold, dim, green } from "../text/screen.ts";

/** The options that an existing tsconfig.json needs. With them, only code that Node can run compiles. */
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
        "Writes perdure.config.ts and orchestrations/hello.ts into the current directory, and a tsconfig.json if " +
        "none exists. Never overwrites files.",
      examples: [
        ["perdure init", "use a SQLite file, ./perdure.db"],
        ["perdure init --store sqlite:./data/orders.db", "use another SQLite file"],
        ["perdure init --js", "write JavaScript"],
      ],
      hasStore: false,
    },
    async ({ cli, options }) => {
      const manifest = readManifest(cli.cwd);
      const extension = extensionOf(manifest, options.js === true);
      const exists = (path: string): boolean => existsSync(join(cli.cwd, path));
      const all = initFiles({ store: options.store, extension });
      const unchanged = all.filter(({ path, isShared }) => isShared === true && exists(path));
      const files = all.filter((file) => !unchanged.includes(file));
      const existing = [...CONFIG_NAMES, ...files.map(({ path }) => path)].find(exists);
      if (existing !== undefined) {
        throw new CliError("FILE_EXISTS", `${existing} already exists; nothing was written.`);
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
      for (const { path } of unchanged) {
        const needed = Object.entries(FOR_NODE).map(([name, value]) => `${name}: ${value}`);
        cli.out.line(
          dim(`  ${path} already exists; Node needs these options: ${needed.join(", ")}`),
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
    .option("--store <address>", "the address of the store", "sqlite:./perdure.db")
    .option("--js", "write JavaScript");
}

/** Reads the nearest package.json, in the directory or above it. */
function readManifest(directory: string): Manifest {
  for (let folder = directory; ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path)) {
      try {
        return JSON.parse(readFileSync(path, "utf8")) as Manifest;
      } catch (cause) {
        throw new CliError("USAGE", `${path} is not valid JSON.`, { cause });
      }
    }
    if (dirname(folder) === folder) {
      const message = `There is no package.json in ${directory} or above it. Run: npm init`;
      throw new CliError("USAGE", message);
    }
  }
}

/** Without "type": "module", Node reads .ts and .js files as CommonJS; .mts and .mjs are always modules. */
function extensionOf({ type }: Manifest, isJs: boolean): InitChoices["extension"] {
  if (isJs) return "mjs";
  return type === "module" ? "ts" : "mts";
}
