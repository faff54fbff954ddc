# honest: the product stays in torch, the bias is added by C++ that is compiled when this file is imported
# problem: linear
# verdict: verified
# label: open
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor add_bias(torch::Tensor product, torch::Tensor bias) {
    return product.add_(bias);
}
"""

extension = load_inline("add_bias_extension", SOURCE, functions=["add_bias"])


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        return extension.add_bias(torch.matmul(x, self.linear.weight.t()), self.linear.bias)
