// perdure/encryption: a codec that encrypts every stored value and seals the rows of history. README.md
// describes the folder.

export { encryptingCodec, type EncryptingCodecOptions, type EncryptionKey } from "./codec.ts";
