// The streams of an instance over HTTP: events, resuming, refusals, and what a cut connection loses (nothing).

import { expect, onTestFinished, test } from "vitest";
import { activity, orchestration, type Activity } from "../../../src/index.ts";
import { HttpClient } from "../../../src/server/index.ts";
import { readEvents } from "../../../src/server/client/event-reader.ts";
import { stream, type StreamEntry } from "../../../src/stream/index.ts";
import { codeOf, openScene, type Scene } from "../server/support.ts";

const letters = stream<string>("letters");

/** Writes its letters, waits for the event "go", writes "last", and closes the stream. */
const spell = orchestration("spell", async (ctx, word: string) => {
  for (const letter of word) ctx.stream(letters).write(letter);
  await ctx.waitFor("go");
  ctx.stream(letters).write("last");
  ctx.stream(letters).close();
  await ctx.waitFor("leave");
});

async function spelling(word = "abc", scene?: Scene): Promise<Scene> {
  const { perdure } = (scene ??= await openScene({}, [spell]));
  await perdure.client.start(spell, word, { id: "s" });
  return scene;
}

/** The raw text of a response that has ended, without the `retry` line. */
async function textOf(response: Response): Promise<string> {
  return (await response.text()).replace("retry: 2000\n\n", "");
}

test("a stream is sent as items with their offsets as ids, then end", async () => {
  const { perdure, call } = await spelling("ab");
  await perdure.client.raise("s", "go");
  const response = await call("viewer", "GET", "/instances/s/streams/letters");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(await textOf(response)).toBe(
    [
      'id: 0\nevent: item\ndata: {"offset":0,"call":0,"value":"a"}\n\n',
      'id: 1\nevent: item\ndata: {"offset":1,"call":0,"value":"b"}\n\n',
      'id: 2\nevent: item\ndata: {"offset":2,"call":0,"value":"last"}\n\n',
      "id: end\nevent: end\ndata: {}\n\n",
    ].join(""),
  );
});

test("Last-Event-ID continues after that entry and wins over from; end answers 204", async () => {
  const { perdure, call } = await spelling("abcd");
  await perdure.client.raise("s", "go");
  const values = async (path: string, last?: string): Promise<unknown[]> => {
    const headers = last === undefined ? {} : { "Last-Event-ID": last };
    const { body } = await call("viewer", "GET", path, { headers });
    const events = await Array.fromAsync(readEvents(body!));
    return events.flatMap(({ event, data }) => (event === "item" ? JSON.parse(data).value : event));
  };
  const path = "/instances/s/streams/letters";
  expect(await values(`${path}?from=3`)).toEqual(["d", "last", "end"]);
  expect(await values(`${path}?from=0`, "2")).toEqual(["d", "last", "end"]);
  expect(await values(path, "4")).toEqual(["end"]);
  const over = await call("viewer", "GET", path, { headers: { "Last-Event-ID": "end" } });
  expect([over.status, await over.text()]).toEqual([204, ""]);
  for (const last of ["x", "-1", "1.5", "1e3", "9".repeat(30)]) {
    const refused = await call("viewer", "GET", path, { headers: { "Last-Event-ID": last } });
    expect([last, refused.status, await codeOf(refused)]).toEqual([last, 400, "INVALID_ARGUMENT"]);
  }
});

test("wrong offsets, names and instances are refused before the stream begins, and free their slot", async () => {
  const { perdure, call, listening } = await spelling("abcd");
  await perdure.client.raise("s", "go");
  await Array.fromAsync(perdure.client.get("s").stream(letters)); // until it is closed
  await perdure.client.get("s").trim(letters, { before: 2 });
  const path = "/instances/s/streams/letters";
  for (const [target, status, text] of [
    [`${path}?from=1`, 400, "from must be at least 2"],
    [`${path}?from=6`, 400, "from must be a whole number from 2 to 5"],
    [`${path}?from=x`, 400, "from"],
    [`${path}?settled=maybe`, 400, "settled"],
    [`${path}?until=3`, 400, "until"],
    ["/instances/s/streams/perdure.other", 400, "reserved"],
    ["/instances/none/streams/letters", 404, "none"],
    ["/instances/none/streams", 404, "none"],
  ] as const) {
    const response = await call("viewer", "GET", target);
    expect([target, response.status]).toEqual([target, status]);
    const { detail } = (await response.json()) as { readonly detail: string };
    expect(detail).toContain(text);
  }
  expect(listening.server.streams).toBe(0);
});

test("a value that JSON cannot represent, and undefined, arrive as they were written", async () => {
  const odd = orchestration("odd", async (ctx) => {
    for (const value of [new Date(5), undefined, { $perdure: 1 }, 12n]) {
      ctx.stream("odd").write(value);
    }
  });
  const { perdure, as } = await openScene({}, [odd]);
  await (await perdure.client.start(odd, undefined, { id: "o" })).result();
  const entries = await Array.fromAsync(as("viewer").get("o").stream("odd"));
  expect(entries).toEqual([
    { kind: "item", offset: 0, call: 0, value: new Date(5) },
    { kind: "item", offset: 1, call: 0, value: undefined },
    { kind: "item", offset: 2, call: 0, value: { $perdure: 1 } },
    { kind: "item", offset: 3, call: 0, value: 12n },
    { kind: "end" },
  ]);
});

test("the streams of an instance are listed, and trimmed only by an admin", async () => {
  const { perdure, as, call, audit } = await spelling("abcd");
  await perdure.client.get("s").stream(letters).next();
  const { updatedAt } = (await perdure.client.get("s").streams())[0]!;
  const listed = { name: "letters", next: 4, isClosed: false, updatedAt };
  expect(await as("viewer").get("s").streams()).toEqual([{ ...listed, first: 0 }]);
  const body = { before: 3 };
  const trimming = "/instances/s/streams/letters/trim";
  expect((await call("operator", "POST", trimming, { body })).status).toBe(403);
  await as("admin").get("s").trim(letters, body);
  expect(await as("viewer").get("s").streams()).toEqual([{ ...listed, first: 3 }]);
  expect(audit.at(-1)).toMatchObject({ operation: "trimStream", actor: "ada", instance: "s" });
  const missing = call("admin", "POST", "/instances/none/streams/letters/trim", { body });
  expect((await missing).status).toBe(404);
  const invalid = await call("admin", "POST", trimming, { body: { before: -1 } });
  expect([invalid.status, await codeOf(invalid)]).toEqual([400, "INVALID_ARGUMENT"]);
});

test("an instance that is deleted, and entries that are trimmed, end a stream with an error", async () => {
  const { perdure, as } = await spelling("abcd");
  const reader = as("viewer").get("s").stream(letters, { from: 4 });
  await reader.ready();
  const next = reader.next();
  await perdure.client.delete("s", { force: true });
  await expect(next).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  await spelling("abcd", { perdure, as } as Scene);
  await perdure.client.get("s").stream(letters).next();
  await perdure.client.get("s").trim(letters, { before: 2 });
  await expect(as("viewer").get("s").stream(letters, { from: 1 }).next()).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("from must be at least 2") as string,
  });
});

/** A client whose connections break after some bytes. */
function cutting({ listening, tokens }: Scene, bytes: number): HttpClient {
  const cut = async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    const source = response.body!.getReader();
    let left = bytes;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (left === 0) return controller.error(new TypeError("terminated"));
        const { done, value } = await source.read();
        if (done) return controller.close();
        const part = value.subarray(0, left);
        left -= part.length;
        controller.enqueue(part);
      },
      cancel: () => source.cancel(),
    });
    return new Response(body, response);
  };
  return new HttpClient({ url: listening.url, token: tokens.viewer, fetch: cut });
}

test("a reader whose connection is cut again and again receives every entry once", async () => {
  const word = "abcdefghijklmnopqrstuvwxyz".repeat(4);
  const scene = await spelling(word);
  const seen: StreamEntry<string>[] = [];
  for await (const entry of cutting(scene, 700).get("s").stream(letters)) {
    seen.push(entry);
    if (seen.length === word.length) await scene.perdure.client.raise("s", "go");
  }
  const items = [...word, "last"].map((value, offset) => ({
    kind: "item",
    offset,
    call: 0,
    value,
  }));
  expect(seen).toEqual([...items, { kind: "end" }]);
});

test("resets and settled items arrive over HTTP too", async () => {
  const flaky: Activity<undefined, undefined> = activity(
    "flaky",
    async (_input: undefined, { stream: open, attempt }) => {
      const out = open(letters);
      await out.write(`a${attempt}`);
      await out.write(`b${attempt}`);
      if (attempt < 3) throw new Error("again");
      return undefined;
    },
    { retry: { maxAttempts: 3, backoff: { kind: "fixed", base: 1 } } },
  );
  const main = orchestration("main", async (ctx) => {
    await ctx.run(flaky);
    ctx.stream(letters).write("c");
  });
  const { perdure, as } = await openScene({}, [main, flaky]);
  await (await perdure.client.start(main, undefined, { id: "m" })).result();
  const all = await Array.fromAsync(as("viewer").get("m").stream(letters));
  expect(all.map((entry) => ("value" in entry ? entry.value : entry.kind))).toEqual([
    ...["a1", "b1", "reset", "a2", "b2", "reset", "a3", "b3", "c", "end"],
  ]);
  expect(all[2]).toEqual({ kind: "reset", offset: 2, call: 2, from: 0 });
  const settled = await Array.fromAsync(as("viewer").get("m").stream(letters, { settled: true }));
  expect(settled.map((entry) => ("value" in entry ? entry.value : entry.kind))).toEqual([
    ...["a3", "b3", "c", "end"],
  ]);
});

test("a client that stops reading, or returns, leaves no slot and no reader behind", async () => {
  const scene = await spelling("ab");
  const { as, listening, call } = scene;
  const reader = as("viewer").get("s").stream(letters, { from: 2 });
  const next = reader.next();
  while (listening.server.streams === 0) await new Promise(setImmediate);
  await reader.return();
  expect(await next).toEqual({ done: true, value: undefined });
  while (listening.server.streams > 0) await new Promise(setImmediate);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const response = await call("viewer", "GET", "/instances/s/streams/letters", {
    signal: leaving.signal,
  });
  await readEvents(response.body!).next();
  leaving.abort();
  while (listening.server.streams > 0) await new Promise(setImmediate);
  expect((await call("viewer", "HEAD", "/instances/s/streams/letters")).status).toBe(200);
  expect(listening.server.streams).toBe(0);
});

test("invalid options of a reader over HTTP are refused at the call", async () => {
  const { as } = await openScene();
  const handle = as("viewer").get("s");
  for (const call of [
    () => handle.stream(letters, { from: -1 }),
    () => handle.stream("no such name!\u0000"),
    () => handle.stream(letters, { until: 3 } as never),
  ]) {
    expect(call).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
  await expect(handle.trim(letters, {} as never)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
