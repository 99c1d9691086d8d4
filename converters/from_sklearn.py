"""scikit-learn estimators, converted by skl2onnx: linear models, trees, forests, boosting, SVM, neighbours, scalers, pipelines.

Classifiers are compared by label, exactly, and by probability; regressors by value; transformers by their columns.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from checks import Converted, main
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, PoissonRegressor, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

warnings.simplefilter("ignore")

FEATURES, ROWS = 8, 300
OPSETS = {"": 18, "ai.onnx.ml": 3}
NUMBERS = [("x", FloatTensorType([None, FEATURES]))]
x2, two = make_classification(ROWS, FEATURES, n_informative=5, random_state=0)
x3, three = make_classification(ROWS, FEATURES, n_informative=5, n_classes=3, random_state=1)
xr, value = make_regression(ROWS, FEATURES, noise=3, random_state=2)
x2, x3, xr, value = x2.astype(np.float32), x3.astype(np.float32), xr.astype(np.float32), value / 50
words = np.array(["no", "yes"])[two]
random = np.random.default_rng(3)
holes = np.where(random.random(x2.shape) < 0.1, np.float32(np.nan), x2)
VOCABULARY = ["red", "Green", "blue!", "cat", "(dog)", "house", "runs", "fast-food", "42", "sky", "snake_case"]
texts = np.array([" ".join(random.choice(VOCABULARY, random.integers(1, 9))) for _ in range(80)], object).reshape(-1, 1)
accented = np.array([t.replace("sky", "Über").replace("red", "naïve").replace("42", "кот") for t in texts.ravel()], object).reshape(-1, 1)
about = np.array([int("cat" in t) for t in texts.ravel()])
kinds = np.stack([random.choice(["a", "b", "c"], 120), random.choice(["x", "y"], 120)], 1).astype(object)
chosen = random.integers(0, 2, 120)
STRINGS = [("x", StringTensorType([None, 2]))]
TEXT = [("x", StringTensorType([None, 1]))]


def column(v: Any) -> np.ndarray:
    """[n] as [n, 1], the shape of regressors' results in skl2onnx; sparse as dense."""
    v = v.toarray() if hasattr(v, "toarray") else np.asarray(v)
    return v.reshape(-1, 1) if v.ndim == 1 else v


def labels(v: np.ndarray) -> np.ndarray:
    """Labels as a model gives them: strings as objects."""
    return v.astype(object) if v.dtype.kind in "OU" else v.astype(np.int64)


def predicted(made: Any, x: Any, zipmap: bool) -> list[Any]:
    """What the estimator says of x, one entry per output of the model that skl2onnx makes of it."""
    if not hasattr(made, "predict"):
        return [column(made.transform(x))]
    if hasattr(made, "cluster_centers_"):
        return [labels(made.predict(x)), made.transform(x)]
    if not hasattr(made, "classes_"):
        if not hasattr(made, "offset_"):
            return [column(made.predict(x))]
        return [column(made.predict(x)).astype(np.int64), column(made.decision_function(x))]
    if not hasattr(made, "predict_proba"):
        return [labels(made.predict(x)), None]
    scores = made.predict_proba(x)
    rows = [dict(zip(made.classes_.tolist(), row, strict=True)) for row in scores.tolist()]
    return [labels(made.predict(x)), rows if zipmap else scores]


def fitted(estimator: Any, x: Any, y: Any = None, types: Any = NUMBERS, zipmap: bool = False, at: Any = None, **options: Any) -> Converted:
    """The estimator fitted and converted; run on the rows of `at`, by default those that it has learned, and on the first only."""
    made = estimator.fit(x, y) if y is not None else estimator.fit(x)
    if hasattr(made, "predict_proba"):
        options |= {"zipmap": zipmap}
    opsets = OPSETS | ({"com.microsoft": 1} if options.get("optim") == "cdist" else {})
    model = to_onnx(made, initial_types=types, options={id(made): options} if options else None, target_opset=opsets)
    runs = [({"x": part}, predicted(made, part, zipmap)) for part in ((x, x[:1]) if at is None else (at, at[:1]))]
    return Converted(model, runs)


def frame() -> Converted:
    """A table of named columns of several types: numbers with holes, integers, categories and text, each with its own transformer."""
    from pandas import DataFrame

    table = DataFrame(
        {
            "size": random.normal(size=80).astype(np.float32),
            "age": random.normal(size=80).astype(np.float32),
            "count": random.integers(0, 9, 80),
            "kind": random.choice(["a", "b", "c"], 80),
            "note": texts.ravel(),
        }
    )
    table.loc[::7, "size"] = np.nan
    each = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["size", "age"]),
            ("integers", StandardScaler(), ["count"]),
            ("kinds", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
            ("notes", TfidfVectorizer(), "note"),
        ]
    )
    made = make_pipeline(each, LogisticRegression()).fit(table, np.array(["other", "cat"])[about])
    kind = {"size": FloatTensorType, "age": FloatTensorType, "count": Int64TensorType, "kind": StringTensorType, "note": StringTensorType}
    model = to_onnx(made, initial_types=[(name, t([None, 1])) for name, t in kind.items()], target_opset=OPSETS)
    feeds = {name: table[name].to_numpy(object if t is StringTensorType else None).reshape(-1, 1) for name, t in kind.items()}
    return Converted(model, [(feeds, predicted(made, table, zipmap=True))])


def dictionaries() -> Converted:
    """DictVectorizer: a mapping of names to numbers is the feed."""
    made = DictVectorizer(sparse=False).fit([{"a": 1.0, "b": 2.0}, {"b": 3.0, "c": 1.0}])
    types = [("x", DictionaryType(StringTensorType([1]), FloatTensorType([1])))]
    model = to_onnx(made, initial_types=types, target_opset=OPSETS)
    row = {"a": 1.5, "c": 2.0, "unseen": 7.0}
    return Converted(model, [({"x": row}, [made.transform([row])])])


def text(vectorizer: Any, *steps: Any, of: Any = texts, **options: Any) -> Converted:
    """A pipeline whose first step reads the one column of text."""
    made = make_pipeline(ColumnTransformer([("text", vectorizer, 0)]), *steps).fit(of, about)
    each = {id(made): {"zipmap": False}} if hasattr(made, "predict_proba") else {}
    model = to_onnx(made, initial_types=TEXT, options=each | {type(vectorizer): options}, target_opset=OPSETS)
    return Converted(model, [({"x": part}, predicted(made, part, False)) for part in (of, of[:1])])


some = {"random_state": 0}
CASES = {
    "linear": lambda: fitted(LinearRegression(), xr, value),
    "linear, two targets": lambda: fitted(LinearRegression(), xr, np.stack([value, value**2], 1)),
    "elastic net": lambda: fitted(ElasticNet(alpha=0.1), xr, value),
    "poisson": lambda: fitted(PoissonRegressor(), xr, abs(value)),
    "logistic": lambda: fitted(LogisticRegression(), x3, three),
    "logistic, words": lambda: fitted(LogisticRegression(), x2, words, zipmap=True),
    "ridge classifier": lambda: fitted(RidgeClassifier(), x3, three),
    "sgd": lambda: fitted(SGDClassifier(loss="log_loss", **some), x3, three),
    "one vs rest": lambda: fitted(OneVsRestClassifier(LogisticRegression()), x3, three),
    "tree": lambda: fitted(DecisionTreeClassifier(**some), x3, three),
    "tree regressor": lambda: fitted(DecisionTreeRegressor(**some), xr, np.stack([value, value**2], 1)),
    "forest": lambda: fitted(RandomForestClassifier(30, **some), x3, three, zipmap=True),
    "forest, words": lambda: fitted(RandomForestClassifier(30, **some), x2, words, zipmap=True),
    "forest regressor": lambda: fitted(RandomForestRegressor(30, **some), xr, value),
    "extra trees": lambda: fitted(ExtraTreesRegressor(20, **some), xr, value),
    "isolation forest": lambda: fitted(IsolationForest(n_estimators=20, **some), xr),
    "bagging": lambda: fitted(BaggingClassifier(n_estimators=4, **some), x3, three),
    "boosting": lambda: fitted(GradientBoostingClassifier(n_estimators=20, **some), x3, three),
    "boosting regressor": lambda: fitted(GradientBoostingRegressor(n_estimators=20, **some), xr, value),
    "histogram boosting, holes": lambda: fitted(HistGradientBoostingClassifier(max_iter=20, **some), holes, two),
    "histogram regressor": lambda: fitted(HistGradientBoostingRegressor(max_iter=20, **some), xr, value),
    "adaboost": lambda: fitted(AdaBoostClassifier(n_estimators=5, **some), x3, three),
    "svc": lambda: fitted(SVC(probability=True, **some), x3, three),
    "svc, words": lambda: fitted(SVC(kernel="poly", probability=True, **some), x2, words, zipmap=True),
    "linear svc": lambda: fitted(LinearSVC(**some), x3, three),
    "nu svc": lambda: fitted(NuSVC(kernel="sigmoid", nu=0.3, **some), x2, two),
    "svr": lambda: fitted(SVR(), xr, value),
    "one-class svm": lambda: fitted(OneClassSVM(nu=0.2), xr),
    "neighbours": lambda: fitted(KNeighborsClassifier(), x3, three),
    "neighbours regressor": lambda: fitted(KNeighborsRegressor(3), xr[:200], np.stack([value, value**2], 1)[:200], at=xr[200:]),
    "neighbours, cdist": lambda: fitted(KNeighborsRegressor(), xr, value, optim="cdist"),
    "outlier factor": lambda: fitted(LocalOutlierFactor(novelty=True), xr),
    "naive bayes": lambda: fitted(GaussianNB(), x3, three),
    "network": lambda: fitted(MLPClassifier((10,), **some), x3, three),
    "network regressor": lambda: fitted(MLPRegressor(hidden_layer_sizes=(8,), **some), xr, value),
    "gaussian process": lambda: fitted(GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.1)), xr, value),
    "k-means": lambda: fitted(KMeans(4, **some), xr),
    "pca": lambda: fitted(PCA(3), xr),
    "standard scaler": lambda: fitted(StandardScaler(), xr),
    "range scaler": lambda: fitted(MinMaxScaler(clip=True), xr),
    "absolute scaler": lambda: fitted(MaxAbsScaler(), xr),
    "robust scaler": lambda: fitted(RobustScaler(), xr),
    "normalizer": lambda: fitted(Normalizer("l1"), xr),
    "polynomial": lambda: fitted(PolynomialFeatures(2), xr),
    "bins": lambda: fitted(KBinsDiscretizer(4, encode="ordinal"), xr),
    "power": lambda: fitted(PowerTransformer(), xr),
    "imputer": lambda: fitted(make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression()), holes, two),
    "imputer by neighbours": lambda: fitted(KNNImputer(), holes),
    "voting": lambda: fitted(
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft", flatten_transform=False), x3, three
    ),
    "stacking": lambda: fitted(
        StackingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=3, **some))]), x3, three
    ),
    "calibrated": lambda: fitted(CalibratedClassifierCV(GaussianNB()), x3, three),
    "one-hot": lambda: fitted(OneHotEncoder(handle_unknown="ignore"), kinds, types=STRINGS),
    "ordinal": lambda: fitted(OrdinalEncoder(), kinds, types=STRINGS),
    "categories, forest": lambda: fitted(make_pipeline(OneHotEncoder(), RandomForestClassifier(5, **some)), kinds, chosen, STRINGS),
    "text, tf-idf": lambda: text(TfidfVectorizer(), LogisticRegression()),
    "text, pairs of words": lambda: text(CountVectorizer(ngram_range=(1, 2), stop_words=None), MultinomialNB()),
    "text, as it is": lambda: text(TfidfVectorizer(lowercase=False, token_pattern="[a-zA-Z0-9]+"), LogisticRegression()),
    "text, other letters": lambda: text(TfidfVectorizer(), LogisticRegression(), of=accented, tokenexp=r"[\p{L}\p{N}_]+"),
    "text, characters": lambda: text(TfidfVectorizer(analyzer="char", ngram_range=(1, 2)), TruncatedSVD(4, **some), LogisticRegression()),
    "table of columns": frame,
    "dictionaries": dictionaries,
}

if __name__ == "__main__":
    main(CASES)
