"""Python functions that a pipeline names: `file.py:function`, `package.module:function`, or the function itself.

A file beside the pipeline is no installed module, so the workers of a cluster could not import it: its functions
travel by value.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.place import PipelineError, allowed


def function_of(pipeline: Pipeline, part: Part, field: str) -> Callable[..., Any]:
    reference = part[field]
    if callable(reference):
        given: Callable[..., Any] = reference
        return given
    module_name, _, name = reference.rpartition(":")
    place = part.line(field)
    try:
        if module_name.endswith(".py"):
            module = _module_of_file(pipeline.located(module_name))
        else:
            module = importlib.import_module(module_name)
    except FileNotFoundError as error:
        raise PipelineError(f"{place}: {part.owner} names {error.filename}, which is not there.") from None
    except ImportError as error:
        raise PipelineError(
            f"{place}: {part.owner} names `{module_name}`, which cannot be imported: {error}."
        ) from None
    except Exception as error:
        raise PipelineError(f"{place}: {module_name} fails: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        known = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        raise PipelineError(f"{place}: {module_name} has no function `{name}`; {allowed(name, known)}")
    found: Callable[..., Any] = function
    return found


def _module_of_file(path: str) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such file", path)
    name = "moldau_pipeline_" + "".join(letter if letter.isalnum() else "_" for letter in os.path.abspath(path))
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    from pyspark import cloudpickle

    travel_by_value: Any = cloudpickle.register_pickle_by_value
    travel_by_value(module)
    return module
