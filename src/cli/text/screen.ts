// A screen: writes lines of styled pieces to standard output or standard error.
//   - Every piece is cleaned before it is coloured, so that data cannot control the terminal.
//   - Colours are used only on a terminal. NO_COLOR turns them off; FORCE_COLOR turns them on everywhere.
//   - All output of the command line goes through a screen, including the parser's help and questions.

import { styleText } from "node:util";
import { clean, cleanJson } from "./clean-text.ts";

type Style = Parameters<typeof styleText>[0];

/** A piece of text with a colour or style. */
export class Styled {
  readonly style: Style;
  readonly text: string;

  constructor(style: Style, text: string | number) {
    this.style = style;
    this.text = String(text);
  }
}
export type Piece = string | number | Styled;

const styled = (style: Style) => (text: string | number) => new Styled(style, text);
export const bold = styled("bold");
export const dim = styled("dim");
export const red = styled("red");
export const green = styled("green");
export const yellow = styled("yellow");
export const cyan = styled("cyan");
export const magenta = styled("magenta");

export function plainText(piece: Piece): string {
  return clean(String(piece instanceof Styled ? piece.text : piece));
}

/** The part of a stream that a screen uses. */
export interface ScreenStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export class Screen {
  readonly isTerminal: boolean;
  readonly hasColours: boolean;
  readonly #stream: ScreenStream;

  constructor(stream: ScreenStream, env: NodeJS.ProcessEnv) {
    this.#stream = stream;
    this.isTerminal = stream.isTTY === true;
    this.hasColours = wantsColours(this.isTerminal, env);
  }

  /** The width of the terminal. Infinity if the stream is not a terminal. */
  get columns(): number {
    return this.isTerminal ? (this.#stream.columns ?? 80) : Infinity;
  }

  line(...pieces: readonly Piece[]): void {
    this.#stream.write(`${this.render(pieces)}\n`);
  }

  /** Writes several lines of data, such as a stack. Each line is cleaned separately. */
  lines(text: string, indent = ""): void {
    for (const line of text.split(/\r?\n/)) this.line(indent, line);
  }

  /** Writes one indented JSON document. */
  document(value: unknown): void {
    this.#stream.write(`${cleanJson(value, 2)}\n`);
  }

  /** Writes one JSON document of a stream, on one line. */
  record(value: unknown): void {
    this.#stream.write(`${cleanJson(value)}\n`);
  }

  /** Writes text of the program itself, such as help, without cleaning it. */
  verbatim(text: string): void {
    this.#stream.write(text);
  }

  render(pieces: readonly Piece[]): string {
    return pieces.map((piece) => this.#paint(piece)).join("");
  }

  #paint(piece: Piece): string {
    const text = plainText(piece);
    if (!(piece instanceof Styled) || !this.hasColours || text === "") return text;
    return styleText(piece.style, text, { validateStream: false });
  }
}

function wantsColours(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  if (isSet(env["NO_COLOR"])) return false;
  const forced = env["FORCE_COLOR"];
  if (forced === "0" || forced === "false") return false;
  return isSet(forced) || (isTerminal && env["TERM"] !== "dumb");
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}
