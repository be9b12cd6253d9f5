/** A record of a format, and what its observation must say. */
export type SensorRecord = readonly [format: string, record: Record<string, unknown> | string, expected: object];
