// The library's messages, for a reader at a command line: an option or a command in place of a call or a member.
//   CW1. Only messages that a command can lead to are in the table.

const WORDS: readonly (readonly [library: RegExp, command: string])[] = [
  [/an onConflict policy/, "an --on-conflict policy"],
  [/^Give delay or at, not both/, "Give --delay or --at, not both"],
  [/^beforeSequence is/, "--before is"],
  [/needs tokens: see createToken\(\)/, "needs --tokens <file>"],
  [/; use createToken\(\)/, "; generate one with: openssl rand -base64 32"],
  [/, or call PostgresProvider\.migrate,/, ""],
  [/, or open with migrate: "apply"/, ""],
  [/[,;] or open it with readOnly: true, to look at it/, ""],
];

export function inCommandWords(message: string): string {
  return WORDS.reduce((text, [library, command]) => text.replace(library, command), message);
}
