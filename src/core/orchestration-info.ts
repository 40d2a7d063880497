// What `ctx.info` tells: as of the event last delivered (U4).

import type { OrchestrationInfo } from "./context-types.ts";
import type { Run } from "./run.ts";

export class Info implements OrchestrationInfo {
  readonly #run: Run;
  constructor(run: Run) {
    this.#run = run;
  }
  get instanceId(): string {
    return this.#run.instanceId;
  }
  get executionId(): number {
    return this.#run.execution;
  }
  get name(): string {
    return this.#run.started.name;
  }
  get version(): string {
    return this.#run.started.orchestrationVersion;
  }
  get parent(): { id: string; sequence: number } | undefined {
    const { parent } = this.#run.started;
    return parent && { id: parent.id, sequence: parent.sequence };
  }
  get isReplaying(): boolean {
    return this.#run.isReplaying;
  }
  get historyLength(): number {
    return this.#run.delivered;
  }
  get historyBytes(): number {
    return this.#run.bytes;
  }
  get cancelRequested(): boolean {
    return this.#run.cancelReason !== null;
  }
  get attributes(): Readonly<Record<string, string>> {
    return this.#run.state.attributes;
  }
}
