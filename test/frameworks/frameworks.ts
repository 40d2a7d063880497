// The frameworks: how the application of each is built and started. README.md says what an application must do.

import process from "node:process";

/** A program and its arguments. A name without a path is a program of this folder's packages. */
export type Command = readonly [program: string, ...args: string[]];
export interface Framework {
  readonly name: string;
  /** Of the folder's packages; its version is shown. */
  readonly package: string;
  /** Run in the folder of the application. Default: the type check, which all applications pass. */
  readonly build?: readonly Command[];
  /** Run in the folder of the application. Default: Node runs `main.ts`. */
  readonly start?: Command;
}

export const START: Command = [process.execPath, "main.ts"];

export const FRAMEWORKS: readonly Framework[] = [
  { name: "express", package: "express" },
  { name: "express4", package: "express4" },
  { name: "fastify", package: "fastify" },
  { name: "fastify4", package: "fastify4" },
  { name: "hono", package: "hono" },
];
