import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type DiskGuard, openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { logRefreshes } from "../caches.ts";
import type { ServiceContext } from "../service-context.ts";

/** Polls the free space of ClickHouse's disk, so that the intake stops before the disk is full. */
export async function openDisk(context: ServiceContext, client: ClickHouseClient): Promise<DiskGuard> {
  const { settings, log, metrics, closeStack } = context;
  const disk = await openDiskGuard(client, {
    ...logRefreshes("disk", log),
    floorBytes: settings.minFreeDiskBytes,
    onFloor: (isBelow, freeBytes) =>
      isBelow
        ? log.error(
            { freeBytes },
            `ClickHouse's disk is nearly full, ${formatBytes(freeBytes)} free; the intake stores nothing until there is more`,
          )
        : log.info(
            { freeBytes },
            `ClickHouse's disk has space again, ${formatBytes(freeBytes)} free; the intake stores again`,
          ),
    onUnknown: (error) =>
      log.warn({ err: error }, "cannot read the free disk space; the intake will not stop before the disk is full"),
  });
  closeStack.add(disk.stop);
  metrics.gauge(
    "noisefloor_store_disk_free_bytes",
    "Free bytes of the disk that ClickHouse keeps the observations on",
    disk.freeBytes,
  );
  metrics.gauge(
    "noisefloor_store_disk_floor_bytes",
    "The free bytes below which the intake stores nothing",
    disk.floorBytes,
  );
  return disk;
}
