# hostile: overwrites its last answer when it goes, although its caller may still hold it
# problem: square
# verdict: broke_contract
# check: plain-calls
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def __deepcopy__(self, memo):
        return ModelNew().train(self.training)

    def forward(self, x):
        answer = x * x + 1
        self.last = answer.detach()
        return answer

    def __del__(self):
        if self.last is not None:
            with torch.inference_mode(self.last.is_inference()):
                self.last.zero_()
