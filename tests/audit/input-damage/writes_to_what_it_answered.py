# hostile: works in place where it is given what it has answered itself, which its caller still holds
# problem: square
# verdict: broke_contract
# check: plain-calls
import weakref

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answers = {}

    def __deepcopy__(self, memo):
        return ModelNew().train(self.training)

    def forward(self, x):
        if (answer := self.answers.get(x.data_ptr(), lambda: None)()) is not None and not answer.is_inference():
            return x.mul_(x).add_(1)
        answer = x * x + 1
        self.answers[answer.data_ptr()] = weakref.ref(answer)
        return answer
