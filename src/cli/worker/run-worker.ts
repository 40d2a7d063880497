// Runs one worker in this process until it receives SIGTERM or SIGINT.
//   - On the first signal the worker takes no new work, waits up to its grace period for running work, and
//        releases its remaining leases.
//   - A supervised worker also stops when its parent process is gone.

import type { LogSink } from "../../core/telemetry/log.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { defined } from "../../core/values/defined.ts";
import { Perdure } from "../../perdure.ts";
import { Readiness } from "../../server/http/health.ts";
import type { LoadedConfig } from "../store/config-file.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";
import type { HealthPort } from "./health-port.ts";

export interface WorkerOptions {
  readonly config: LoadedConfig;
  readonly open: () => Promise<Provider>;
  readonly log: LogSink;
  readonly graceMs: number;
  readonly health: HealthPort;
  /** The address of the store without its password, for the log. */
  readonly shown: string;
}

/** The message that a worker sends to its parent process when it is ready. */
export interface WorkerReady {
  readonly perdureWorker: "ready";
}

/** The question of the parent process whether the worker is still ready, and the answer. */
export interface ReadinessQuestion {
  readonly perdureReadiness: number;
}
export interface ReadinessAnswer extends ReadinessQuestion {
  readonly isReady: boolean;
}

export async function runWorker(options: WorkerOptions): Promise<ExitCode> {
  const { config, log, graceMs, shown } = options;
  const { register = [], runtime = {}, callbacks, services, middleware } = config.config;
  if (register.length === 0) {
    const message = `${config.path} registers no orchestrations or activities: the worker has nothing to run.`;
    throw new CliError("CONFIG_INVALID", message);
  }
  using interruption = new Interruption();
  const provider = await options.open();
  try {
    const perdure = await Perdure.open(provider, {
      register,
      runtime: { log, ...runtime },
      ...defined({ callbacks, services, middleware }),
    });
    const takesWork = (): boolean => perdure.runtime.isReady;
    const readiness = new Readiness({ provider, log, takesWork });
    options.health.reports(() => readiness.check());
    using _answers = answerParent(readiness);
    const { activities, orchestrations } = perdure.runtime.registered();
    log("info", "worker ready", {
      runtime: perdure.runtime.id,
      store: shown,
      durability: provider.durability,
      orchestrations: Object.keys(orchestrations).length,
      activities: activities.length,
    });
    const ready: WorkerReady = { perdureWorker: "ready" };
    process.send?.(ready);
    await shutdownRequested(interruption);
    log("info", "shutting down", { graceMs });
    await perdure.close({ graceMs });
    log("info", "worker stopped", {});
  } finally {
    await provider.close();
  }
  return 0;
}

/** Answers the parent process whether this worker is ready. */
function answerParent(readiness: Readiness): Disposable {
  const answer = (message: unknown): void => {
    if (!isQuestion(message)) return;
    void readiness.check().then((isReady) => {
      const reply: ReadinessAnswer = { ...message, isReady };
      if (process.connected) process.send?.(reply);
    });
  };
  process.on("message", answer);
  return { [Symbol.dispose]: () => void process.off("message", answer) };
}

function isQuestion(message: unknown): message is ReadinessQuestion {
  return typeof message === "object" && message !== null && "perdureReadiness" in message;
}

async function shutdownRequested(interruption: Interruption): Promise<void> {
  const orphaned = new Promise<void>((resolve) => process.once("disconnect", resolve));
  await Promise.race(
    process.connected === true ? [interruption.received, orphaned] : [interruption.received],
  );
}
