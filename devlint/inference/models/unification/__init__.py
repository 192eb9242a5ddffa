"""Unification: what happens where one operation brings tensors together.

Each operand is a term: it lives on a known device, or on one that a variable stands for, which
whoever calls chooses. An operation is a constraint: all its terms are in one place. `constraints`
says which two can't be, whatever their order, and which need not be; `meetings.meet` notes the
former, leaves the latter to callers, and says where the result is. Which of two is told as out of
place is a matter of `authority`.

Its modules:

    operands: the tensors that come together, the alternatives of each operand
    constraints: which terms can't be in one place; pure, and knows no tensor
    authority: which operand the others have to follow
    contradictions: two places that can't be one, and what has to be assumed for that
    rigid_devices: a known device and one that somebody else chooses
    accelerated_code: the assumption that this code runs on an accelerator at all
    exemptions: tensors that meet every device, operations that bring nothing together
    indices: a tensor and its index
    branches: alternatives of one operand, which come together with some of another only
    batches: parts of a batch, of which another part was moved
    pending_meetings: meetings that are left to the callers, or to the rest of the function
    drafts: contradictions, until the function is done
    results: the place of a result
    observations: what a meeting shows of its operands, and what collectors learn from it
    meetings: `meet`, and callees out of sight, which may compute with what they are given
"""
