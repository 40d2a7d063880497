// node examples/chat/main.ts [server | worker]: serves the chat and answers its messages, or only one of the two.
// All state is in the store: kill any of the processes at any moment, start it again, and the page goes on.

import { mkdirSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { serve } from "@hono/node-server";
import { Perdure } from "../../src/index.ts";
import { defineChat } from "./chat.ts";
import { chatServer } from "./server.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    file: { type: "string", default: join(tmpdir(), "perdure-chat", "chat.db") },
    port: { type: "string", default: "3000" },
    seconds: { type: "string", default: "20" },
  },
});
const [mode] = positionals;
mkdirSync(dirname(values.file), { recursive: true });
const { message, register } = defineChat({ seconds: Number(values.seconds) });
const perdure = await Perdure.open(`sqlite:${values.file}`, {
  register,
  autoStart: mode !== "server",
});
const leave = (): void => void perdure.close({ graceMs: 0 }).then(() => process.exit());
process.once("SIGINT", leave);
process.once("SIGTERM", leave);

if (mode === "worker") {
  console.log(`Process ${process.pid} answers the messages in ${values.file}.`);
} else {
  const { fetch } = chatServer(perdure.client, message);
  const announce = ({ port }: AddressInfo): void =>
    console.log(`Chat at http://127.0.0.1:${port}/`);
  serve({ fetch, port: Number(values.port), hostname: "127.0.0.1" }, announce);
}
