// The frameworks: how the application of each is built and started. README.md says what an application must do.

import { join } from "node:path";
import process from "node:process";
import type { DOCUMENTED } from "./docs-blocks.ts";

/** A program and its arguments. A name without a path is a program of this folder's packages. */
export type Command = readonly [program: string, ...args: string[]];
export interface Framework {
  readonly name: string;
  /** In apps/. Default: the name. */
  readonly folder?: string;
  /** Of the folder's packages; its version is shown. */
  readonly package: string;
  /** Run in the folder of the application. Default: the type check, which all applications pass. */
  readonly build?: readonly Command[];
  /** Run in the folder of the application. Default: Node runs `main.ts`. */
  readonly start?: Command;
  /** Starts a server that loads changed modules into the same process. */
  readonly dev?: Command;
  /** Its section of docs/frameworks.md has blocks that need the framework's packages (docs-blocks.ts). */
  readonly documented?: keyof typeof DOCUMENTED;
}

/** The compiler of the project. */
export const TSC: Command = [
  process.execPath,
  join(import.meta.dirname, "../../node_modules/typescript/bin/tsc"),
];
export const START: Command = [process.execPath, "main.ts"];

export const FRAMEWORKS: readonly Framework[] = [
  { name: "express", package: "express" },
  { name: "express4", package: "express4" },
  { name: "fastify", package: "fastify" },
  { name: "fastify4", package: "fastify4" },
  { name: "hono", package: "hono" },
  {
    name: "next",
    package: "next",
    build: [["next", "build"]],
    start: ["next", "start", "--hostname", "127.0.0.1"],
    dev: ["next", "dev", "--hostname", "127.0.0.1"],
    documented: "next",
  },
  {
    name: "nest",
    package: "@nestjs/core",
    build: [[...TSC, "-p", "."]],
    start: [process.execPath, "dist/apps/nest/main.js"],
    documented: "nest",
  },
  {
    name: "nest-fastify",
    folder: "nest",
    package: "@nestjs/core",
    build: [[...TSC, "-p", "."]],
    start: [process.execPath, "dist/apps/nest/main.js", "fastify"],
  },
];
