// A flow as a chart in Mermaid's flowchart language, which many Markdown viewers render.
//   - Labels are quoted and escaped: an id cannot become chart syntax.

import { formatDuration } from "../../core/time/duration.ts";
import type {
  FlowDefinition,
  FlowNode,
  KeyedNodes,
  LoopNode,
  MapNode,
  WaitNode,
} from "./definition.ts";

/** An arrow that still needs its target: the box it starts from, and its label. */
interface Exit {
  readonly from: string;
  readonly label?: string;
}

export function mermaid(definition: FlowDefinition): string {
  return new Drawing().draw(definition);
}

class Drawing {
  readonly #lines: string[] = ["flowchart TD"];
  #count = 0;
  #indent = "  ";

  draw({ name, nodes }: FlowDefinition): string {
    const start = this.#box("([", name, "])");
    const exits = this.#level(nodes, [{ from: start }]);
    const end = this.#box("([", "end", "])");
    this.#lead(exits, end);
    return `${this.#lines.join("\n")}\n`;
  }

  #level(nodes: readonly FlowNode[], entries: readonly Exit[]): readonly Exit[] {
    return nodes.reduce((exits, node) => this.#node(node, exits), entries);
  }

  #node(node: FlowNode, entries: readonly Exit[]): readonly Exit[] {
    switch (node.kind) {
      case "task":
        return this.#undone(this.#step("[", node.id, "]", entries), node.defer !== undefined);
      case "child":
        return this.#undone(
          this.#step("[[", `${node.id}: ${node.orchestration}`, "]]", entries),
          node.defer !== undefined,
        );
      case "delay":
        return [
          { from: this.#step("[/", `${node.id} ${formatDuration(node.delayMs)}`, "/]", entries) },
        ];
      case "wait":
        return [{ from: this.#step(">", waitLabel(node), "]", entries) }];
      case "fork": {
        const fork = this.#step("{{", node.id, "}}", entries);
        const join = this.#newId();
        this.#lead(this.#branches(node.branches, fork), join);
        this.#line(`${join}(( ))`);
        return [{ from: join }];
      }
      case "route": {
        const route = this.#step("{", node.id, "}", entries);
        const exits = this.#branches(node.cases, route);
        if (node.otherwise === undefined) return exits;
        return [...exits, ...this.#level(node.otherwise, [{ from: route, label: "otherwise" }])];
      }
      case "loop":
      case "map":
        return this.#repeated(node, entries);
      case "call":
        return this.#group(node.id, () => this.#level(node.nodes, entries));
      case "catch": {
        const before = this.#count;
        const exits = this.#group(`watched by ${node.id}`, () => this.#level(node.nodes, entries));
        const handler = this.#step("[", node.id, "]", []);
        this.#line(`n${before + 1} -. "failure" .-> ${handler}`); // n(before + 1) is the group
        return [...exits, ...this.#level(node.handler, [{ from: handler }])];
      }
    }
  }

  #branches(branches: readonly KeyedNodes[], from: string): readonly Exit[] {
    return branches.flatMap(({ key, nodes }) => this.#level(nodes, [{ from, label: key }]));
  }

  #repeated(node: LoopNode | MapNode, entries: readonly Exit[]): readonly Exit[] {
    const isLoop = node.kind === "loop";
    const times = isLoop
      ? `at most ${node.maxIterations} rounds`
      : `every item, ${node.concurrency} at a time`;
    return this.#group(`${node.id}: ${times}`, () => {
      const head = this.#step("[", isLoop ? node.id : `${node.id}.items`, "]", entries);
      const exits = this.#level(node.nodes, [{ from: head }]);
      const labelled = (label: string) => exits.map(({ from }) => ({ from, label }));
      if (isLoop) this.#lead(labelled("again"), head);
      return labelled(isLoop ? "done" : "all");
    });
  }

  #group<T>(title: string, draw: () => T): T {
    this.#line(`subgraph ${this.#newId()}[${quoted(title)}]`);
    const outer = this.#indent;
    this.#indent += "  ";
    const drawn = draw();
    this.#indent = outer;
    this.#line("end");
    return drawn;
  }

  #undone(step: string, isUndone: boolean): readonly Exit[] {
    if (isUndone) this.#line(`${step} -. "undo" .-> ${step}`);
    return [{ from: step }];
  }

  #step(open: string, label: string, close: string, entries: readonly Exit[]): string {
    const id = this.#box(open, label, close);
    this.#lead(entries, id);
    return id;
  }

  #box(open: string, label: string, close: string): string {
    const id = this.#newId();
    this.#line(`${id}${open}${quoted(label)}${close}`);
    return id;
  }

  #lead(exits: readonly Exit[], to: string): void {
    for (const { from, label } of exits) {
      this.#line(label === undefined ? `${from} --> ${to}` : `${from} -->|${quoted(label)}| ${to}`);
    }
  }

  #newId(): string {
    return `n${++this.#count}`;
  }
  #line(text: string): void {
    this.#lines.push(this.#indent + text);
  }
}

function waitLabel({ id, signal, timeoutMs }: WaitNode): string {
  const name = id === signal ? signal : `${id}: ${signal}`;
  return timeoutMs === undefined ? name : `${name}, ${formatDuration(timeoutMs)}`;
}

function quoted(label: string): string {
  const text = label
    .replaceAll("#", "#35;")
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;");
  return `"${text.replaceAll(">", "&gt;")}"`;
}
