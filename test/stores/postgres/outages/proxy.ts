// A faulty network between workers and their database.
//   - It drops whole calls, never a part of a call. A cut `before` drops the call, a cut `after` drops the answer. In both
//        cases the caller does not know the outcome.
//   - proxy.1: Half open: both ends keep the connection, but no data passes.
//   - It counts its faults and the errors of the server, so that a run can show that its faults took effect.

import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { Chance } from "../../../faults/kill/chance.ts";
import { callLength, isCommit, startLength } from "../protocol.ts";

/** The fraction of commits to cut while cuts are left. */
const CUT_FRACTION = 0.25;

export interface ProxyCounts {
  /** Commits that never reached the server. */
  before: number;
  /** Commits that the server executed and whose answer was dropped. */
  after: number;
  frozen: number;
  /** All listening connections so far. */
  listening: number;
  /** The number of answers per SQLSTATE in WATCHED. */
  readonly states: Map<string, number>;
}

/** Ended by an operator, read-only, too many connections, shut down or starting. */
const WATCHED = ["57P01", "25006", "53300", "57P02", "57P03"] as const;

export class OutageProxy {
  readonly counts: ProxyCounts = {
    before: 0,
    after: 0,
    frozen: 0,
    listening: 0,
    states: new Map(WATCHED.map((state) => [state, 0])),
  };
  readonly #target: URL;
  readonly #chance: Chance;
  readonly #server: Server;
  readonly #open = new Set<Line>();
  #cutsLeft = 0;

  static async open(target: string, chance: Chance): Promise<OutageProxy> {
    const proxy = new OutageProxy(new URL(target), chance);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor(target: URL, chance: Chance) {
    this.#target = target;
    this.#chance = chance;
    this.#server = createServer((client) => this.#connected(client));
  }

  /** The address of the database through this proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  get cuts(): number {
    return this.counts.before + this.counts.after;
  }

  /** Cuts `count` commits, chosen randomly. */
  cut(count: number): void {
    this.#cutsLeft += count;
  }

  /** proxy.1, for every listening connection; returns their number. */
  freezeListeners(): number {
    const listening = [...this.#open].filter((line) => line.listens && !line.isFrozen);
    for (const line of listening) line.isFrozen = true;
    this.counts.frozen += listening.length;
    return listening.length;
  }

  close(): void {
    this.#server.close();
    for (const { client, upstream } of this.#open) {
      client.destroy();
      upstream.destroy();
    }
  }

  #connected(client: Socket): void {
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    const line = new Line(client, upstream);
    this.#open.add(line);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    upstream.on("data", (data) => this.#answered(line, data));
    client.on("data", (data) => {
      for (const call of line.calls(data)) this.#called(line, call);
    });
    const over = (): void => {
      if (line.isFrozen && !client.destroyed) return;
      client.destroy();
      upstream.destroy();
      this.#open.delete(line);
    };
    upstream.on("close", over);
    client.on("close", over);
  }

  #called(line: Line, call: Buffer): void {
    if (line.isFrozen || line.isSilent) return;
    if (!line.listens && call.includes("LISTEN perdure_")) {
      line.listens = true;
      this.counts.listening++;
    }
    if (this.#cutsLeft === 0 || !isCommit(call) || !this.#chance.happens(CUT_FRACTION)) {
      line.upstream.write(call);
      return;
    }
    this.#cutsLeft--;
    line.isSilent = true;
    if (this.#chance.happens(0.5)) {
      this.counts.before++;
      line.client.destroy();
      return;
    }
    // The server has executed the call when it answers.
    line.upstream.once("data", () => {
      this.counts.after++;
      line.client.destroy();
    });
    line.upstream.write(call);
  }

  #answered(line: Line, data: Buffer): void {
    for (const state of WATCHED) {
      if (data.includes(`C${state}\0`)) {
        this.counts.states.set(state, (this.counts.states.get(state) ?? 0) + 1);
      }
    }
    if (!line.isFrozen && !line.isSilent) line.client.write(data);
  }
}

class Line {
  readonly client: Socket;
  readonly upstream: Socket;
  listens = false;
  isFrozen = false;
  /** One of its calls was dropped, and with it the connection. */
  isSilent = false;
  #waiting: Buffer = Buffer.alloc(0);
  #hasStarted = false;

  constructor(client: Socket, upstream: Socket) {
    this.client = client;
    this.upstream = upstream;
  }

  /** Every complete call. */
  *calls(data: Buffer): Generator<Buffer> {
    this.#waiting = Buffer.concat([this.#waiting, data]);
    for (;;) {
      const length = this.#hasStarted ? callLength(this.#waiting) : startLength(this.#waiting);
      if (length === null) return;
      const call = Buffer.from(this.#waiting.subarray(0, length));
      this.#waiting = this.#waiting.subarray(length);
      this.#hasStarted = true;
      yield call;
    }
  }
}
