// Compiles the code blocks of docs/frameworks.md that need the packages of a framework.
//   - The first line of each file in a block is a comment with its path. A block may hold several files.
//   - A page leaves imports and small classes out where they would only repeat what is obvious; `MISSING` has them.

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { TSC } from "./frameworks.ts";

const PAGE = join(import.meta.dirname, "../../docs/frameworks.md");
const FOLDER = join(import.meta.dirname, ".docs");
const BLOCK = /^```ts(?: ignore)?\n(.*?)^```$/gms;
const PATH = /^\/\/ ([\w./[\]-]+\.ts)$/m;

interface Pages {
  readonly heading: string;
  readonly compilerOptions: Readonly<Record<string, unknown>>;
  /** Text before a file of a block, by path. */
  readonly missing: Readonly<Record<string, string>>;
  /** Files that the page only mentions. */
  readonly files: Readonly<Record<string, string>>;
}

const COMMON = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ["node"],
  target: "es2023",
};

export const DOCUMENTED = {
  next: {
    heading: "## Next.js",
    compilerOptions: { ...COMMON, module: "esnext", moduleResolution: "bundler" },
    missing: { "lib/perdure.ts": 'import { charge, fulfil } from "./orders";' },
    files: {
      "lib/orders.ts": `
        import { activity, orchestration } from "perdure";
        interface Order { readonly id: string; readonly cents: number }
        export const charge = activity("charge", async (order: Order) => ({ chargeId: order.id }));
        export const fulfil = orchestration("fulfil", (ctx, order: Order) => ctx.run(charge, order));`,
      "context.d.ts": `
        import "perdure";
        declare module "perdure" { interface Context { readonly tenant?: string | undefined } }`,
    },
  },
  nest: {
    heading: "## NestJS",
    compilerOptions: {
      ...COMMON,
      module: "nodenext",
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
    missing: {
      "orders.ts": `
        import { orchestration } from "perdure";
        import { declareActivity } from "perdure/nest";
        export interface Payment { readonly cents: number }`,
      "payments.ts": `
        import { Injectable } from "@nestjs/common";
        import type { ActivityContext } from "perdure";
        import { Activity } from "perdure/nest";
        import { Gateway } from "./gateway.js";
        import { charge, type Payment } from "./orders.js";`,
      "app.module.ts": `
        import { Module } from "@nestjs/common";
        import { PerdureModule } from "perdure/nest";
        import { Gateway } from "./gateway.js";
        import * as orders from "./orders.js";
        import { Payments } from "./payments.js";`,
      "main.ts": `
        import { NestFactory } from "@nestjs/core";
        import { AppModule } from "./app.module.js";`,
    },
    files: {
      "gateway.ts": `
        import { Injectable } from "@nestjs/common";
        @Injectable()
        export class Gateway {
          async pay(payment: { readonly cents: number }, key: string): Promise<string> {
            return \`\${payment.cents} \${key}\`;
          }
        }`,
      "context.d.ts": `
        import "perdure";
        declare module "perdure" { interface Context { readonly tenant?: string | string[] | undefined } }`,
      "package.json": '{ "type": "module" }',
    },
  },
} as const satisfies Readonly<Record<string, Pages>>;

/** Throws what the compiler prints, if a block of the section does not compile. */
export async function compileBlocks(name: keyof typeof DOCUMENTED): Promise<void> {
  const pages: Pages = DOCUMENTED[name];
  const folder = join(FOLDER, name);
  rmSync(folder, { recursive: true, force: true });
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const files = filesOf(sectionOf(pages.heading));
  const unused = Object.keys(pages.missing).filter((path) => !files.has(path));
  if (files.size === 0 || unused.length > 0) {
    throw new Error(`the section "${pages.heading}" must have the files ${unused.join(", ")}`);
  }
  for (const [path, text] of Object.entries(pages.files)) put(path, text);
  for (const [path, text] of files) {
    put(
      path,
      `${pages.missing[path] ?? ""}\n${text}${text.includes("export") ? "" : "\nexport {};"}`,
    );
  }
  put("tsconfig.json", JSON.stringify({ compilerOptions: pages.compilerOptions }));
  const [program, ...args] = TSC;
  try {
    await promisify(execFile)(program, [...args, "-p", folder]);
  } catch (error) {
    const { stdout = "" } = error as { stdout?: string };
    throw new Error(`blocks of "${pages.heading}" do not compile:\n${stdout}`, { cause: error });
  } finally {
    rmSync(FOLDER, { recursive: true });
  }
}

function sectionOf(heading: string): string {
  const page = readFileSync(PAGE, "utf8");
  const begin = page.indexOf(`\n${heading}\n`);
  if (begin === -1) throw new Error(`docs/frameworks.md has no section "${heading}"`);
  return page.slice(begin, page.indexOf("\n## ", begin + 1));
}

/** By path, in the order of the page. */
function filesOf(section: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, code = ""] of section.matchAll(BLOCK)) {
    const [before = "", ...parts] = code.split(PATH);
    if (before.trim() !== "") throw new Error(`a block must begin with its path: ${before.trim()}`);
    for (let i = 0; i < parts.length; i += 2) files.set(parts[i] ?? "", parts[i + 1] ?? "");
  }
  return files;
}
