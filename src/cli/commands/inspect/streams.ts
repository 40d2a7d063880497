// perdure streams: lists the streams of an instance. perdure stream: shows the entries of one until it is over.

import type { StreamEntry, StreamInfo } from "../../../client/streams/entries.ts";
import { defined } from "../../../core/values/defined.ts";
import { entryToHttp, streamInfoToHttp } from "../../../server/wire/streams.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { Interruption } from "../../interrupt.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { Session } from "../../store/session.ts";
import { dim, yellow, type Screen } from "../../text/screen.ts";
import { printTable } from "../../text/table.ts";
import { showAge } from "../../text/times.ts";
import { showValue } from "../../text/values.ts";

export function addStreams(program: Program): void {
  defineCommand(
    program,
    {
      usage: "streams <id>",
      summary: "list the streams of an instance",
      examples: [
        ["perdure streams chat-7", "their offsets, and whether they are closed"],
        ["perdure streams chat-7 --json | jq -r '.streams[].name'", "their names"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      await using session = await Session.open(call, { access: "read" });
      const streams = await session.client.get(id).streams();
      if (options.json === true) {
        cli.out.document({ id, streams: streams.map(streamInfoToHttp) });
      } else if (streams.length === 0) {
        cli.out.line(dim(`${id} has no streams.`));
      } else {
        const now = session.provider.now();
        printTable<StreamInfo>(
          cli.out,
          [
            { title: "name", cell: ({ name }) => name },
            { title: "first", cell: ({ first }) => first },
            { title: "next", cell: ({ next }) => next },
            { title: "state", cell: ({ isClosed }) => (isClosed ? "closed" : "open"), cut: false },
            { title: "updated", cell: ({ updatedAt }) => showAge(updatedAt, now), cut: false },
          ],
          streams,
        );
      }
      return 0;
    },
  );
}

interface StreamCommandOptions {
  readonly from?: number;
  readonly settled?: true;
}

export function addStream(program: Program): void {
  defineCommand<StreamCommandOptions>(
    program,
    {
      usage: "stream <id> <name>",
      summary: "show the entries of a stream, until it is over",
      description:
        "Shows the entries of a stream of an instance and waits for further ones. Exits when the stream is closed " +
        "or its instance has ended. Ctrl+C stops reading; it does not affect the instance.",
      examples: [
        ["perdure stream chat-7 tokens", "everything, then what is written"],
        ["perdure stream chat-7 tokens --from 17", "continue at an offset"],
        ["perdure stream chat-7 perdure.log", "the log lines, with log: { stream: true }"],
        ["perdure stream chat-7 tokens --json | jq .value", "one line of JSON per entry"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = "", name = ""] = args;
      const { from, settled, json } = options;
      await using session = await Session.open(call, { access: "follow" });
      using interruption = new Interruption();
      const { signal } = interruption;
      const entries = session.client
        .get(id)
        .stream(name, { ...defined({ from, settled }), signal });
      try {
        for await (const entry of entries) {
          if (json === true) cli.out.record({ kind: entry.kind, ...dataOf(entry) });
          else printEntry(cli.out, entry);
        }
      } catch (error) {
        if (interruption.code === undefined) throw error;
        return interruption.code;
      }
      return 0;
    },
  )
    .option("--from <offset>", "the first offset; default: the first entry", wholeNumber(0))
    .option("--settled", "only what successful calls and the orchestration wrote");
}

function dataOf(entry: StreamEntry): object {
  return entryToHttp(entry).data;
}

function printEntry(screen: Screen, entry: StreamEntry): void {
  switch (entry.kind) {
    case "item":
      return screen.line(dim(`${entry.offset}  `), showValue(entry.value, Infinity));
    case "reset": {
      const { offset, call, from } = entry;
      const text = `call ${call} runs again: its items from offset ${from} on are void`;
      return screen.line(dim(`${offset}  `), yellow(text));
    }
    case "end":
      return screen.line(dim("end"));
  }
}
