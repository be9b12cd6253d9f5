"""Calls every operation of a generated client, as openapi-python-client makes it.

Reads the calls as JSON from standard input, and writes for each id the status and what became of the body.
"""

import importlib
import io
import json
import pkgutil
import sys
import types
import typing

import noisefloor_client.api
from noisefloor_client import AuthenticatedClient
from noisefloor_client.types import File

given = json.load(sys.stdin)


def plain(name):
    return name.lower().replace("_", "")


modules = {
    plain(found.name.rsplit(".", 1)[-1]): importlib.import_module(found.name)
    for found in pkgutil.walk_packages(noisefloor_client.api.__path__, "noisefloor_client.api.")
    if not found.ispkg
}


def body_of(kind, example):
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        wants_list = isinstance(example, list)
        kinds = [one for one in typing.get_args(kind) if (typing.get_origin(one) is list) == wants_list]
        return body_of(kinds[0], example)
    if typing.get_origin(kind) is list:
        return [body_of(typing.get_args(kind)[0], item) for item in example]
    if kind is File:
        return File(payload=io.BytesIO(example.encode()))
    return kind.from_dict(example)


def form_of(kind, example):
    kinds = typing.get_args(kind) or [kind]
    form = next(one for one in kinds if hasattr(one, "from_dict"))
    return form(file=File(payload=io.BytesIO(example["file"].encode()), file_name="text"))


answers = {}
for call in given["calls"]:
    module = modules[plain(call["id"])]
    arguments = {**call["pathParameters"], **call["query"]}
    if call.get("body") is not None:
        kind = typing.get_type_hints(module.sync_detailed)["body"]
        if call["bodyType"] == "multipart/form-data":
            arguments["body"] = form_of(kind, call["body"])
        else:
            arguments["body"] = body_of(kind, call["body"])
    token = given["sensorKey"] if call["isIntake"] else given["key"]
    with AuthenticatedClient(base_url=given["url"], token=token) as client:
        answer = module.sync_detailed(client=client, **arguments)
    answers[call["id"]] = {
        "name": module.__name__.rsplit(".", 1)[-1],
        "status": int(answer.status_code),
        "isParsed": answer.parsed is not None,
    }
json.dump(answers, sys.stdout)
