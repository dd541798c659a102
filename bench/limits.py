#!/usr/bin/env python3
"""Upper limits: no platform at all, one asyncio process straight to the grader.

limits.py single -c 32            single calls, nothing stored
limits.py batch -b 128 -c 4       batch calls, nothing stored
... --persist                     the same with completion, run and score rows by COPY (load schema.sql before)
"""

import argparse, asyncio, os, time
import aiohttp, psycopg
import common as c


async def grade(http, chunk, batch):
    path, body, headers, rid = c.request(chunk, batch)
    async with http.post(c.GRADER + path, data=body, headers=headers) as r:
        out = await r.read()
        r.raise_for_status()
        return c.values(rid, chunk, out, r.headers)


async def store(db, ids, chunk):
    """Completion and run rows in one transaction; ids are given out beforehand."""
    async with db.transaction(), db.cursor() as cur:
        async with cur.copy("copy bench_completion (id, public_id, prompt, response) from stdin") as cp:
            for i, x in zip(ids, chunk):
                await cp.write_row((i, x["id"], x["prompt"], x["response"]))
        async with cur.copy("copy bench_run (id, completion_id, status) from stdin") as cp:
            for i in ids:
                await cp.write_row((i, i, 1))


async def save(db, rows):
    async with db.transaction(), db.cursor() as cur:
        await cur.execute("update bench_run set status = 2 where id = any(%s)", ([r[0] for r in rows],))
        async with cur.copy("copy bench_score (run_id, value) from stdin") as cp:
            for r in rows:
                await cp.write_row(r)


async def main(a):
    data, q, lat = c.completions(a.n), asyncio.Queue(), []
    step = a.batch if a.mode == "batch" else a.chunk
    for i in range(0, a.n, step):
        q.put_nowait((range(i + 1, i + 1 + len(data[i : i + step])), data[i : i + step]))
    http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    slots = asyncio.Semaphore(a.concurrency)

    async def single(x):
        async with slots:
            t = time.perf_counter()
            (value,) = await grade(http, [x], False)
            if not a.persist:
                lat.append(time.perf_counter() - t)
            return value

    async def worker():
        db = await psycopg.AsyncConnection.connect(c.DB, autocommit=True) if a.persist else None
        while not q.empty():
            ids, chunk = q.get_nowait()
            t = time.perf_counter()
            if db:
                await store(db, ids, chunk)
            got = await (grade(http, chunk, True) if a.mode == "batch" else asyncio.gather(*map(single, chunk)))
            if db:
                await save(db, list(zip(ids, got)))
            if db or a.mode == "batch":
                lat.extend([time.perf_counter() - t] * len(chunk))
        if db:
            await db.close()

    named = {"client": [os.getpid()]}
    if a.persist:
        named["postgres"] = [c.postmaster()]
    meter = c.Meter(named)
    workers = a.concurrency if a.mode == "batch" else max(2, a.concurrency // a.chunk)
    await asyncio.gather(*(worker() for _ in range(workers)))
    used = meter.stop(a.n)
    c.line(f"limit {a.mode}{', stored' if a.persist else ''} b={step} c={a.concurrency}", a.n, meter.seconds, lat, used)
    await http.close()


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("mode", choices=["single", "batch"])
    p.add_argument("-n", type=int, default=10000)
    p.add_argument("-b", "--batch", type=int, default=128)
    p.add_argument("-c", "--concurrency", type=int, default=32)
    p.add_argument("--chunk", type=int, default=128, help="rows stored at once in single mode")
    p.add_argument("--persist", action="store_true")
    c.run(main(p.parse_args()))
