// A minimal pooler in transaction mode: each transaction of a client runs on the next server connection.
//   - It parses the protocol far enough to find the end of a call, and whether a transaction is open after its answer.
//   - It answers a new connection with a process id of its own, as PgBouncer does, unless `ids` is "forwarded".
//   - pooling-proxy.1: Connections are assigned in turn, so that consecutive transactions of a client use different ones.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { callLength, startLength } from "../protocol.ts";

const READY = "Z".charCodeAt(0);
const IDLE = "I".charCodeAt(0);
const TERMINATE = "X".charCodeAt(0);
const KEY_DATA = "K".charCodeAt(0);
const GENERATED_ID = 1_000_000_000;

export interface PoolingProxy {
  readonly url: string;
  close(): void;
}

/** A pooler with `size` connections to a server. */
export async function startPoolingProxy(
  server: string,
  size: number,
  ids: "generated" | "forwarded" = "generated",
): Promise<PoolingProxy> {
  const target = new URL(server);
  const sockets = new Set<Socket>();
  const lines: Line[] = [];
  const waiting: ((line: Line) => void)[] = [];
  const free: Line[] = [];
  const release = (line: Line): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(line);
    else next(line);
  };
  /** pooling-proxy.1: the connection that has been free for longest. */
  const take = async (start: Buffer): Promise<Line> => {
    const known = free.shift();
    if (lines.length < size) {
      if (known !== undefined) free.unshift(known);
      const line = new Line(target);
      sockets.add(line.socket);
      lines.push(line);
      await line.call(start);
      return line;
    }
    return known ?? new Promise((resolve) => waiting.push(resolve));
  };
  const listener = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    void serve(client, { take, release, ids });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.toString(),
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Serving {
  readonly take: (start: Buffer) => Promise<Line>;
  readonly release: (line: Line) => void;
  readonly ids: "generated" | "forwarded";
}

async function serve(client: Socket, { take, release, ids }: Serving): Promise<void> {
  let buffer: Buffer = Buffer.alloc(0);
  let start: Buffer | null = null;
  let line: Line | null = null;
  try {
    for await (const data of client as AsyncIterable<Buffer>) {
      buffer = Buffer.concat([buffer, data]);
      for (;;) {
        const length: number | null = start === null ? startLength(buffer) : callLength(buffer);
        if (length === null) break;
        const call: Buffer = Buffer.from(buffer.subarray(0, length));
        buffer = buffer.subarray(length);
        if (call[0] === TERMINATE && start !== null) return;
        if (start === null) {
          start = call;
          line = await take(call);
          client.write(ids === "forwarded" ? line.greeting : withGeneratedId(line.greeting));
        } else {
          line ??= await take(start);
          client.write(await line.call(call));
        }
        if (!line.isIdle) continue;
        release(line);
        line = null;
      }
    }
  } catch {
    // the client has disconnected
  } finally {
    client.destroy();
    if (line !== null) release(line);
  }
}

/** Replaces the process id in the BackendKeyData message. */
function withGeneratedId(greeting: Buffer): Buffer {
  const copy = Buffer.from(greeting);
  for (let at = 0; at < copy.length; at += 1 + copy.readInt32BE(at + 1)) {
    if (copy[at] === KEY_DATA) copy.writeInt32BE(GENERATED_ID, at + 5);
  }
  return copy;
}

/** A connection to the server. */
class Line {
  readonly socket: Socket;
  /** The answer of the server to a new connection. */
  greeting: Buffer = Buffer.alloc(0);
  isIdle = true;
  #answer = Buffer.alloc(0);
  #read = 0;
  #done: ((answer: Buffer) => void) | null = null;

  constructor(target: URL) {
    this.socket = connect(Number(target.port), target.hostname);
    this.socket.on("error", () => undefined);
    this.socket.on("data", (data) => this.#receive(data));
  }

  /** Resolves with the whole answer. */
  async call(call: Buffer): Promise<Buffer> {
    const answer = await new Promise<Buffer>((resolve) => {
      this.#done = resolve;
      this.socket.write(call);
    });
    if (this.greeting.length === 0) this.greeting = answer;
    return answer;
  }

  #receive(data: Buffer): void {
    this.#answer = Buffer.concat([this.#answer, data]);
    while (this.#answer.length - this.#read >= 5) {
      const end = this.#read + 1 + this.#answer.readInt32BE(this.#read + 1);
      if (end > this.#answer.length) return;
      const type = this.#answer[this.#read];
      this.#read = end;
      if (type !== READY) continue;
      this.isIdle = this.#answer[end - 1] === IDLE;
      const answer = Buffer.from(this.#answer.subarray(0, end));
      this.#answer = Buffer.from(this.#answer.subarray(end));
      this.#read = 0;
      this.#done?.(answer);
    }
  }
}
