"""LightGBM and XGBoost, converted by onnxmltools: labels exactly, probabilities and values by tolerance.

Data with holes, categories, several classes, objectives of several kinds; LightGBM also within a pipeline of scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import xgboost
from checks import Converted, main
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm as within_pipeline
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common import data_types as common_data_types
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.simplefilter("ignore")

FEATURES, ROWS = 6, 400
TYPES = [("x", FloatTensorType([None, FEATURES]))]
random = np.random.default_rng(0)
xr, value = make_regression(ROWS, FEATURES, random_state=0)
xr, value = xr.astype(np.float32), (value / 100).astype(np.float32)
SMALL = {"n_estimators": 20, "random_state": 0}
LIGHT = SMALL | {"verbose": -1, "n_jobs": 1}
EXTREME = SMALL | {"n_jobs": 1}


def classes(count: int, holes: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """float32 [ROWS, FEATURES], a tenth of it NaN with `holes`, and the classes [ROWS]."""
    x, y = make_classification(ROWS, FEATURES, n_informative=4, n_classes=count, random_state=0)
    return np.where(random.random(x.shape) < 0.1 * holes, np.nan, x).astype(np.float32), y


def categories() -> tuple[np.ndarray, np.ndarray]:
    """The first two columns are categories, on which two classes depend."""
    x = xr.copy()
    x[:, 0], x[:, 1] = random.integers(0, 12, ROWS), random.integers(0, 5, ROWS)
    return x, (np.isin(x[:, 0], [1, 4, 7, 9]) ^ (x[:, 1] == 2)).astype(int)


def converted(convert: Callable[[Any], Any], made: Any, x: np.ndarray, zipmap: bool = False) -> Converted:
    """The model of a fitted one; run on all rows, and on the first only."""
    model = convert(made)

    def predicted(part: np.ndarray) -> list[Any]:
        if not hasattr(made, "predict_proba"):
            return [made.predict(part).reshape(-1, 1)]
        scores = made.predict_proba(part)
        rows = [dict(zip(made.classes_.tolist(), row, strict=True)) for row in scores.tolist()]
        return [made.predict(part).astype(np.int64), rows if zipmap else scores]

    return Converted(model, [({"x": part}, predicted(part)) for part in (x, x[:1])])


def light(x: np.ndarray, y: np.ndarray, zipmap: bool = False, fit: Any = None, **parameters: Any) -> Converted:
    """A LightGBM classifier."""
    made = lightgbm.LGBMClassifier(**LIGHT | parameters).fit(x, y, **fit or {})
    return converted(partial(convert_lightgbm, initial_types=TYPES, zipmap=zipmap), made, x, zipmap)


def light_regressor(y: np.ndarray, split: int | None = None, **parameters: Any) -> Converted:
    """A LightGBM regressor; `split` trees at most in one node."""
    made = lightgbm.LGBMRegressor(**LIGHT | parameters).fit(xr, y)
    return converted(partial(convert_lightgbm, initial_types=TYPES, split=split), made, xr)


def extreme(x: np.ndarray, y: np.ndarray, **parameters: Any) -> Converted:
    """An XGBoost classifier."""
    return converted(partial(convert_xgboost, initial_types=TYPES), xgboost.XGBClassifier(**EXTREME | parameters).fit(x, y), x)


def extreme_regressor(y: np.ndarray, kind: Any = xgboost.XGBRegressor, **parameters: Any) -> Converted:
    """An XGBoost regressor."""
    return converted(partial(convert_xgboost, initial_types=TYPES), kind(**EXTREME | parameters).fit(xr, y), xr)


def pipeline() -> Converted:
    """LightGBM behind a scaler, converted by skl2onnx with onnxmltools's converter."""
    update_registered_converter(
        lightgbm.LGBMClassifier,
        "LgbmClassifier",
        calculate_linear_classifier_output_shapes,
        within_pipeline,
        options={"nocl": [True, False], "zipmap": [True, False, "columns"]},
    )
    x, y = classes(3, holes=False)
    made = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(**LIGHT)).fit(x, y)
    types = [("x", common_data_types.FloatTensorType([None, FEATURES]))]
    options = {id(made): {"zipmap": False}}
    return converted(partial(to_onnx, initial_types=types, options=options, target_opset={"": 15, "ai.onnx.ml": 3}), made, x)


CASES = {
    "lightgbm, 2 classes": lambda: light(*classes(2)),
    "lightgbm, 3 classes": lambda: light(*classes(3)),
    "lightgbm, maps": lambda: light(*classes(3), zipmap=True),
    "lightgbm, categories": lambda: light(*categories(), fit={"categorical_feature": [0, 1]}, min_data_per_group=5, cat_smooth=1),
    "lightgbm regressor": lambda: light_regressor(value),
    "lightgbm, split": lambda: light_regressor(value, split=7),
    "lightgbm, poisson": lambda: light_regressor(np.exp(value), objective="poisson"),
    # onnxmltools divides the sum over a forest by 100, however many trees it has.
    "lightgbm, forest": lambda: light_regressor(value, n_estimators=100, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5),
    "lightgbm, dart": lambda: light_regressor(value, boosting_type="dart"),
    "lightgbm in a pipeline": pipeline,
    "xgboost, 2 classes": lambda: extreme(*classes(2)),
    "xgboost, 3 classes": lambda: extreme(*classes(3)),
    "xgboost, softprob": lambda: extreme(*classes(3, holes=False), objective="multi:softprob", max_depth=3),
    "xgboost regressor": lambda: extreme_regressor(value),
    "xgboost forest": lambda: extreme_regressor(value, xgboost.XGBRFRegressor),
    "xgboost, tweedie": lambda: extreme_regressor(np.exp(value), objective="reg:tweedie"),
    "xgboost, gamma": lambda: extreme_regressor(np.exp(value), objective="reg:gamma"),
    "xgboost, poisson": lambda: extreme_regressor(np.round(np.exp(value)), objective="count:poisson"),
    "xgboost, absolute error": lambda: extreme_regressor(value, objective="reg:absoluteerror"),
}

if __name__ == "__main__":
    main(CASES)
