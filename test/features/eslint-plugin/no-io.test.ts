// The rule against input and output in orchestration code.

import { noIo } from "../../../src/eslint-plugin/no-io.ts";
import { inside, testRule } from "./support.ts";

const io = (name: string) => ({ messageId: "io", data: { name } });

testRule("no-io", noIo, {
  valid: [
    {
      name: "modules that only compute",
      code: inside(
        `return [join("a", "b"), format("%s", 1), new URL("http://x"), Buffer.from("x")];`,
        `import { join } from "node:path"; import { format } from "node:util";`,
      ),
    },
    {
      name: "constants of a module, and its functions passed to a step",
      code: inside(
        `return ctx.step(String(constants.R_OK), readFileSync);`,
        `import { constants, readFileSync } from "node:fs";`,
      ),
    },
    {
      name: "a package that the option does not name",
      code: inside(`return pg.query("select 1");`, `import pg from "pg";`),
    },
    {
      name: "a local function of the same name",
      code: inside(`return readFile("x");`, `const readFile = (name) => name;`),
    },
  ],
  invalid: [
    {
      name: "files, sockets and processes, with every kind of import",
      code: inside(
        `await readFile("x"); fs.existsSync("x"); fs.promises.stat("x"); net.connect(1);
           execSync("ls"); new DatabaseSync(":memory:"); load.get("x"); new Worker("x");`,
        `import { readFile } from "node:fs/promises"; import fs from "fs"; import * as net from "node:net";
           const { execSync } = require("child_process"); import { DatabaseSync } from "node:sqlite";
           const load = await import("node:https"); import { Worker } from "node:worker_threads";`,
      ),
      errors: [
        io("fs/promises.readFile"),
        io("fs.existsSync"),
        io("fs.promises.stat"),
        io("net.connect"),
        io("child_process.execSync"),
        io("sqlite.DatabaseSync"),
        io("https.get"),
        io("worker_threads.Worker"),
      ],
    },
    {
      name: "globals that access the network or other processes",
      code: inside(
        `fetch("x"); new WebSocket("x"); new EventSource("x"); process.kill(1); own.send("x");`,
        `import own from "node:process";`,
      ),
      errors: ["fetch", "WebSocket", "EventSource", "process.kill", "process.send"].map(io),
    },
    {
      name: "packages that the option names",
      code: inside(
        `return [axios.get("x"), query("select 1")];`,
        `import axios from "axios"; import { query } from "#db";`,
      ),
      options: [{ modules: ["axios", "#db"] }],
      errors: [io("axios.get"), io("#db.query")],
    },
  ],
});
