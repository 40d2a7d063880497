// perdure fork: starts a new instance with a copy of another instance's history up to a point.

import type { CutPoint } from "../../../core/repair/cut.ts";
import { defined } from "../../../core/values/defined.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { CliError } from "../../exit-codes.ts";
import { wholeNumber } from "../../options/numbers.ts";
import {
  addPointOptions,
  pointOf,
  replacementsOf,
  type PointOptions,
} from "../../options/point-options.ts";
import { addWhyOptions, type WhyOptions } from "../../options/why.ts";
import { Session } from "../../store/session.ts";
import { green } from "../../text/screen.ts";
import { parseValue, VALUE_FORMS } from "../../text/values.ts";

interface ForkCommandOptions extends PointOptions, WhyOptions {
  readonly execution?: number;
  readonly as?: string;
  readonly input?: string;
  readonly setVersion?: string;
}

export function addFork(program: Program): void {
  const command = defineCommand<ForkCommandOptions>(
    program,
    {
      usage: "fork <id>",
      summary: "start a new instance from a copy of another one's history",
      description:
        "Starts a new instance with a copy of another instance's history up to a point. Calls that were open at that " +
        "point are requested again, with new idempotency keys. The source does not change. A running worker that has " +
        'the code checks the copied past first. "perdure history" shows the event numbers.',
      examples: [
        ["perdure fork order-7 --before 12", "copy the events before event 12"],
        [
          "perdure fork order-7 --before-step ship --as order-7b",
          "before a step; choose the new id",
        ],
        [`perdure fork order-7 --before 12 --set-version 2.1.0 --input '{"cents":250}'`, "what if"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      const before = pointOf(options);
      if (before === undefined) {
        throw new CliError(
          "USAGE",
          "Pass the point: --before, --before-activity, --before-step or --before-child.",
        );
      }
      const replace = replacementsOf(options);
      const input = await parseValue(cli, "--input", options.input);
      const { execution, as, setVersion: version, by } = options;
      const { reason = "forked from the command line" } = options;
      await using session = await Session.open(call);
      const handle = await session.client.fork(id, {
        before,
        reason,
        ...defined({ execution, id: as, version, by, replace }),
        ...(options.input === undefined ? {} : { input }),
      });
      const point = typeof before === "number" ? { beforeSequence: before } : { before };
      if (options.json === true) cli.out.document({ id: handle.id, source: id, ...point });
      else cli.out.line(green("✓ "), `${handle.id} continues before ${pointText(before)}`);
      return 0;
    },
  );
  addPointOptions(command)
    .option("--execution <number>", "fork this execution; default: the newest", wholeNumber(1))
    .option("--as <id>", "the id of the new instance")
    .option("--input <value>", `another input: ${VALUE_FORMS}`)
    .option("--set-version <version>", "another version of the orchestration");
  addWhyOptions(command);
}

function pointText(point: CutPoint): string {
  if (typeof point === "number") return `event ${point}`;
  const { nth = 1, ...call } = point;
  const [[kind, name] = []] = Object.entries(call);
  return `call ${nth} of ${kind} "${name}"`;
}
