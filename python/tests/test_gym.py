"""The environment of reinforcement learning: its episodes are runs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ridgeline as rl

from conftest import having


def played(env: Any, seed: int | None = None) -> tuple[float, Any]:
    """An episode in turn: the sum of its rewards, and the last info."""
    observation, info = env.reset(seed=seed)
    rewards, turn, done = 0.0, 0, False
    while not done:
        assert observation["instances"].shape == (3, len(rl.gym.FEATURES)) and info["action_mask"].all()
        assert observation["request"][0] == 512 and observation["request"][3] >= 0
        observation, reward, done, truncated, info = env.step(turn % 3)
        assert not truncated
        rewards += reward
        turn += 1
    return rewards, info


def test_in_turn_is_round_robin(fleet: dict[str, Any]) -> None:
    rewards, info = played(rl.gym.RoutingEnv(**fleet))
    assert info["result"].digest == rl.run(**fleet, router="round-robin").digest
    assert rewards == pytest.approx(-info["result"].requests.e2e_ms.sum() / 1e3)


def test_seeds_say_the_episode(fleet: dict[str, Any]) -> None:
    env = rl.gym.RoutingEnv(**fleet)
    first = played(env, seed=5)[1]["result"].digest
    second = played(env)[1]["result"].digest
    assert first != second and played(env, seed=5)[1]["result"].digest == first
    assert played(env)[1]["result"].digest == second


def test_an_episode_can_be_left(fleet: dict[str, Any]) -> None:
    env = rl.gym.RoutingEnv(**fleet)
    before = threading.active_count()
    for _ in range(3):
        env.reset()
        env.step(np.int64(0))
    env.close()
    assert threading.active_count() <= before
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_wrong_use_is_said(fleet: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="router"):
        rl.gym.RoutingEnv(**fleet, router="round-robin")
    with pytest.raises(rl.ConfigError, match="instances"):
        rl.gym.RoutingEnv(**having(fleet, instances=None))
    with pytest.raises(rl.ConfigError, match="model"):
        rl.gym.RoutingEnv(**having(fleet, model="none-such")).reset()
    env = rl.gym.RoutingEnv(**fleet)
    env.reset()
    with pytest.raises(ValueError, match="0 to 2"):
        env.step(3)
    env.close()


def test_it_is_one_of_gymnasium_where_that_is(fleet: dict[str, Any]) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = rl.gym.RoutingEnv(**fleet)
    assert isinstance(env, gymnasium.Env)
    assert env.observation_space.contains(env.reset()[0])
    env.close()
