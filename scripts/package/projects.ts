// Empty projects that install the tarball as a user would, and run hello world.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./run.ts";

interface Project {
  readonly name: string;
  readonly type: "module" | "commonjs";
  readonly file: string;
  readonly code: string;
  readonly typed?: true;
}

const BODY = `
const greet = activity("greet", async (name) => \`Hello, \${name}\`);
const hello = orchestration("hello", async (ctx, name) => ctx.run(greet, name));
`;
const MAIN = `
  const perdure = await Perdure.open("sqlite:./hello.db", { register: [hello, greet] });
  const handle = await perdure.client.start(hello, "Ada", { id: "hello-1" });
  console.log(await handle.result());
  await perdure.close();
`;
const PROJECTS: readonly Project[] = [
  {
    name: "esm",
    type: "module",
    file: "main.js",
    code: `import { activity, orchestration, Perdure } from "perdure";\n${BODY}${MAIN}`,
  },
  {
    name: "commonjs",
    type: "commonjs",
    file: "main.cjs",
    code: `const { activity, orchestration, Perdure } = require("perdure");\n${BODY}\nvoid (async () => {${MAIN}})();`,
  },
  {
    name: "typescript",
    type: "module",
    file: "main.ts",
    typed: true,
    code: `import { activity, orchestration, Perdure, type Handle } from "perdure";
import type * as flows from "perdure/flow";
import type * as server from "perdure/server";
import { SqliteProvider } from "perdure/sqlite";
import type * as testing from "perdure/testing";
export type Others = [flows.FlowDefinition, server.ServerOptions, testing.VirtualEnvironment];
const greet = activity("greet", async (name: string) => \`Hello, \${name}\`);
const hello = orchestration("hello", async (ctx, name: string) => ctx.run(greet, name));
await using provider = { store: await SqliteProvider.open(":memory:"), async [Symbol.asyncDispose]() { await this.store.close(); } };
await using perdure = await Perdure.open(provider.store, { register: [hello, greet] });
const handle: Handle<string> = await perdure.client.start(hello, "Ada", { id: "hello-1" });
// @ts-expect-error the name must be a string
void (() => perdure.client.start(hello, 7));
console.log(await handle.result());
`,
  },
];
/** Installs each project and runs it on the Node at `node`; returns the errors by project. */
export async function projectProblems(
  root: string,
  folder: string,
  tarball: string,
  node: string,
): Promise<string[]> {
  const problems: string[] = [];
  for (const project of PROJECTS) {
    const place = join(folder, project.name);
    mkdirSync(place);
    const manifest = { name: project.name, private: true, type: project.type };
    writeFileSync(join(place, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(place, project.file), project.code);
    try {
      await run(place, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", tarball);
      if (project.typed === true) await checkTypes(root, place, node);
      const printed = await run(place, node, project.file);
      if (printed.trim() !== "Hello, Ada") problems.push(`${project.name} printed ${printed}`);
    } catch (error) {
      problems.push(`${project.name}: ${(error as Error).message}`);
    }
  }
  return problems;
}

/**
 * The compiler and Node's types come from the project: the check covers the package, and the tsconfig.json and the two
 * files that `perdure init` writes.
 */
async function checkTypes(root: string, place: string, node: string): Promise<void> {
  mkdirSync(join(place, "node_modules/@types"), { recursive: true });
  for (const name of ["@types/node", "undici-types"]) {
    symlinkSync(join(root, "node_modules", name), join(place, "node_modules", name));
  }
  await run(place, node, join(place, "node_modules/perdure/dist/cli/main.js"), "init");
  await run(place, process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", ".");
}

const IMPORTS = 15;

export interface ImportTime {
  readonly wallMs: number;
  /** Processor time, which hardly depends on how busy the machine is. */
  readonly cpuMs: number;
}

/** Medians of a first import, each in a new process. */
export async function importTime(
  folder: string,
  specifier: string,
  node: string,
): Promise<ImportTime> {
  const code = `
    const [cpu, wall] = [process.cpuUsage(), performance.now()];
    await import("${specifier}");
    const { user, system } = process.cpuUsage(cpu);
    console.log(JSON.stringify({ wallMs: performance.now() - wall, cpuMs: (user + system) / 1000 }));
  `;
  const times: ImportTime[] = [];
  for (let count = 0; count < IMPORTS; count++) {
    const args = ["--input-type=module", "-e", code];
    const printed = await run(join(folder, "esm"), node, ...args);
    times.push(JSON.parse(printed) as ImportTime);
  }
  return { wallMs: median(times, "wallMs"), cpuMs: median(times, "cpuMs") };
}

function median(times: readonly ImportTime[], member: keyof ImportTime): number {
  const sorted = times.map((time) => time[member]).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
