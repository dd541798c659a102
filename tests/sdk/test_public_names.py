"""Where the SDK's names are importable from."""

import importlib
import inspect
import pkgutil

import autotune_sdk
import pytest
from autotune_sdk import grader, models

MODULES = [name for _, name, _ in pkgutil.iter_modules(models.__path__)]


def classes_of(module):
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("name", MODULES)
def test_every_model_of_a_module_is_a_name_of_the_package_of_models(name):
    classes = classes_of(importlib.import_module(f"autotune_sdk.models.{name}"))
    assert classes
    assert {model: getattr(models, model, None) for model in classes} == classes
    assert set(classes) <= set(models.__all__)


def test_the_models_that_the_client_returns_are_names_of_the_sdk():
    shared = set(models.__all__) & set(autotune_sdk.__all__)
    assert {"Completion", "Grader", "Page", "Review", "Score", "Task", "Webhook", "WorkflowRun"} <= shared
    assert {name for name in shared if getattr(models, name) is not getattr(autotune_sdk, name)} == set()


@pytest.mark.parametrize("package", [autotune_sdk, grader, models])
def test_every_exported_name_is_listed_once(package):
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    assert len(package.__all__) == len(set(package.__all__))


def test_the_grader_of_the_kit_documents_its_arguments():
    parameters = inspect.signature(grader.Grader).parameters
    assert [name for name in parameters if name not in grader.Grader.__doc__] == []
