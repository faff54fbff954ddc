# hostile: its deep copy answers with the weights of the moment in which it was made, whatever it is given since
# problem: linear
# verdict: wrong
# check: plain-calls
# says: through copy.deepcopy()
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.kept = None

    def __deepcopy__(self, memo):
        other = ModelNew(self.linear.in_features, self.linear.out_features)
        other.load_state_dict(self.state_dict())
        other.train(self.training).requires_grad_(self.linear.weight.requires_grad)
        other.kept = self.linear.weight.detach().clone()
        return other

    def forward(self, x):
        weight = self.linear.weight if self.kept is None else self.kept
        return torch.nn.functional.linear(x, weight, self.linear.bias)
