// The routes of the chat. Ids are UUIDs: a page that knows the id of a chat may read and continue it.
//   GET /                          a new chat
//   GET /chats/:chat               the page
//   GET /chats/:chat/messages      the ids of its messages, in order
//   PUT /chats/:chat/messages/:id  starts a message; a repeated call finds the first one
//   GET /perdure/api/v1/instances/:id/streams/tokens  the stream of a message, from Perdure's HTTP API

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Client, Orchestration } from "../../src/index.ts";
import { perdureServer, type Principal } from "../../src/server/index.ts";

const QUESTION_BYTES_MAX = 16_384;
const CHAT = "/chats/:chat{[0-9a-f-]{36}}";
const STREAM = /^\/perdure\/api\/v1\/instances\/(?<id>[0-9a-f-]{36})\/streams\/tokens$/;

export function chatServer(client: Client, message: Orchestration<string, void>): Hono {
  const app = new Hono();
  app.get("/", (context) => context.redirect(`/chats/${randomUUID()}`));
  app.get(CHAT, async (context) =>
    context.html(await readFile(join(import.meta.dirname, "page.html"), "utf8")),
  );
  app.get(`${CHAT}/messages`, async (context) => {
    const chat = context.req.param("chat");
    return context.json(await Array.fromAsync(client.ids({ attributes: { chat } })));
  });
  app.put(
    `${CHAT}/messages/:id{[0-9a-f-]{36}}`,
    bodyLimit({ maxSize: QUESTION_BYTES_MAX }),
    async (context) => {
      const { chat, id } = context.req.param();
      const question = (await context.req.text()).trim();
      if (question === "") return context.text("The question is empty.", 400);
      await client.start(message, question, {
        id,
        attributes: { chat },
        onConflict: "useExisting",
      });
      return context.body(null, 202);
    },
  );
  const authenticate = async (request: Request): Promise<Principal | null> => readerOf(request);
  app.route("/perdure", perdureServer(client, { authenticate, readOnly: true, ui: false }));
  return app;
}

/** A page may read the stream of a message whose id it knows, and nothing else of the store. */
function readerOf(request: Request): Principal | null {
  const id = STREAM.exec(new URL(request.url).pathname)?.groups?.["id"];
  return id === undefined ? null : { name: `reader of ${id}`, role: "viewer" };
}
