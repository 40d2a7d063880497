// The program of an example as a real process that a test types into, reads and kills.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { until } from "../../faults/trouble/support.ts";

export class ExampleProcess {
  readonly #child: ChildProcess;
  #output = "";

  private constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
    const listen = (chunk: Buffer): void => void (this.#output += chunk.toString());
    this.#child.stdout?.on("data", listen);
    this.#child.stderr?.on("data", listen);
    this.#child.stdin?.on("error", () => undefined); // the process was killed during a write
  }

  /** Starts `node` with these arguments. The end of the test kills the process if it is still running. */
  static spawn(args: readonly string[]): ExampleProcess {
    const child = new ExampleProcess(args);
    onTestFinished(() => child.kill());
    return child;
  }

  get output(): string {
    return this.#output;
  }
  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  type(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }
  async prints(text: string): Promise<void> {
    await until(`the process prints "${text}"; output so far: ${this.#output}`, () =>
      this.#output.includes(text),
    );
  }

  /** Waits until the process exits. */
  async end(): Promise<number | null> {
    if (!this.isGone) await once(this.#child, "exit");
    return this.#child.exitCode;
  }
  /** Sends SIGKILL: the process cannot clean up. */
  async kill(): Promise<void> {
    if (this.isGone) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}
