#include "sdk/gpu/device/commands.h"

#include <algorithm>

#include "sdk/gpu/device/pipelines.h"

namespace ferry::gpu {

Commands::~Commands() {
  // A pending submission must not be destroyed. A wait that failed for lack of memory may succeed now.
  for (int attempt = 0; pending_ && attempt < 3; ++attempt) (void)wait();
  const DeviceFunctions& vk = device_->vk();
  vk.vkDestroyFence(device_->handle(), fence_, nullptr);
  vk.vkDestroyQueryPool(device_->handle(), queries_, nullptr);
  vk.vkDestroyDescriptorPool(device_->handle(), descriptors_, nullptr);
  vk.vkDestroyCommandPool(device_->handle(), pool_, nullptr);
}

Status Commands::begin(size_t dispatches, bool timed, bool foreign) {
  foreign_ = foreign;
  const DeviceFunctions& vk = device_->vk();
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = device_->queue_family()};
  FERRY_TRY(check(vk.vkCreateCommandPool(device_->handle(), &pool, nullptr, &pool_), "vkCreateCommandPool"));
  const VkCommandBufferAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = pool_,
                                             .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             .commandBufferCount = 1};
  FERRY_TRY(check(vk.vkAllocateCommandBuffers(device_->handle(), &allocate, &buffer_), "vkAllocateCommandBuffers"));

  const uint32_t sets = static_cast<uint32_t>(std::max<size_t>(dispatches, 1));
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sets * kBindings};
  const VkDescriptorPoolCreateInfo descriptors{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = sets, .poolSizeCount = 1, .pPoolSizes = &size};
  FERRY_TRY(check(vk.vkCreateDescriptorPool(device_->handle(), &descriptors, nullptr, &descriptors_),
                  "vkCreateDescriptorPool"));
  const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  FERRY_TRY(check(vk.vkCreateFence(device_->handle(), &fence, nullptr, &fence_), "vkCreateFence"));

  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  FERRY_TRY(check(vk.vkBeginCommandBuffer(buffer_, &begin), "vkBeginCommandBuffer"));
  if (timed && device_->limits().timestamp_ns > 0) {
    max_timestamps_ = sets + 1;
    ticks_.resize(max_timestamps_);
    nanoseconds_.resize(max_timestamps_);
    const VkQueryPoolCreateInfo queries{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = max_timestamps_};
    FERRY_TRY(check(vk.vkCreateQueryPool(device_->handle(), &queries, nullptr, &queries_), "vkCreateQueryPool"));
    vk.vkCmdResetQueryPool(buffer_, queries_, 0, max_timestamps_);
  }
  // An earlier submission may have written what this one reads: another session's weights, the last run's arena.
  const VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = foreign ? VK_ACCESS_MEMORY_WRITE_BIT : VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  vk.vkCmdPipelineBarrier(buffer_, foreign ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  timestamp();
  return {};
}

void Commands::barrier_if_needed(std::span<const Access> accesses) {
  bool conflict = false;
  for (const Access& a : accesses)
    for (const Access& b : accesses_)
      conflict |= a.buffer == b.buffer && a.begin < b.end && b.begin < a.end && (a.write || b.write);
  if (conflict) {
    const VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    device_->vk().vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    accesses_.clear();
  }
  accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
}

Status Commands::dispatch(const Dispatch& dispatch, const std::array<BufferRange, kBindings>& ranges) {
  const DeviceFunctions& vk = device_->vk();
  Pipelines& pipelines = device_->pipelines();
  VkPipeline pipeline = VK_NULL_HANDLE;
  FERRY_TRY(pipelines.get(dispatch.variant, &pipeline));

  const VkDescriptorSetLayout layout = pipelines.set_layout();
  const VkDescriptorSetAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = descriptors_,
                                             .descriptorSetCount = 1,
                                             .pSetLayouts = &layout};
  VkDescriptorSet set = VK_NULL_HANDLE;
  FERRY_TRY(check(vk.vkAllocateDescriptorSets(device_->handle(), &allocate, &set), "vkAllocateDescriptorSets"));
  std::array<VkDescriptorBufferInfo, kBindings> buffers;
  std::array<VkWriteDescriptorSet, kBindings> writes;
  std::array<Access, kBindings> accesses;
  size_t count = 0;
  for (size_t i = 0; i < kBindings; ++i) {
    const bool used = dispatch.bindings[i].kind != Operand::Kind::None;
    const BufferRange& range = used ? ranges[i] : ranges[0];
    buffers[i] = {range.buffer, range.offset, range.bytes};
    writes[i] = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                 .dstSet = set,
                 .dstBinding = static_cast<uint32_t>(i),
                 .descriptorCount = 1,
                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                 .pBufferInfo = &buffers[i]};
    if (used)
      accesses[count++] = {range.buffer, range.offset, range.offset + range.bytes,
                           i == 0 || dispatch.bindings[i].kind == Operand::Kind::State};
  }
  vk.vkUpdateDescriptorSets(device_->handle(), kBindings, writes.data(), 0, nullptr);

  barrier_if_needed(std::span(accesses).first(count));
  vk.vkCmdBindPipeline(buffer_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vk.vkCmdBindDescriptorSets(buffer_, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines.layout(), 0, 1, &set, 0, nullptr);
  vk.vkCmdPushConstants(buffer_, pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes, dispatch.push.data());
  vk.vkCmdDispatch(buffer_, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  return {};
}

void Commands::begin_transfers() {
  const VkMemoryBarrier before{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
  device_->vk().vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                     1, &before, 0, nullptr, 0, nullptr);
}

void Commands::end_transfers() {
  const VkMemoryBarrier after{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                               VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                                               VK_ACCESS_HOST_READ_BIT};
  constexpr VkPipelineStageFlags kReaders =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT;
  device_->vk().vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_TRANSFER_BIT, kReaders, 0, 1, &after, 0, nullptr, 0,
                                     nullptr);
  accesses_.clear();
}

void Commands::copy(std::span<const Copy> copies) {
  begin_transfers();
  for (const Copy& copy : copies) {
    const VkBufferCopy range{copy.from.offset, copy.to.offset, copy.from.bytes};
    device_->vk().vkCmdCopyBuffer(buffer_, copy.from.buffer, copy.to.buffer, 1, &range);
  }
  end_transfers();
}

void Commands::fill(const BufferRange& range, uint32_t word) {
  begin_transfers();
  device_->vk().vkCmdFillBuffer(buffer_, range.buffer, range.offset, range.bytes, word);
  end_transfers();
}

void Commands::change_owner(const BufferRange& range, uint32_t from, uint32_t to) {
  const VkBufferMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                      .srcAccessMask = 0,
                                      .dstAccessMask = VK_ACCESS_SHADER_READ_BIT,
                                      .srcQueueFamilyIndex = from,
                                      .dstQueueFamilyIndex = to,
                                      .buffer = range.buffer,
                                      .offset = range.offset,
                                      .size = range.bytes};
  constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  device_->vk().vkCmdPipelineBarrier(buffer_, kCompute, kCompute, 0, 0, nullptr, 1, &barrier, 0, nullptr);
}

void Commands::timestamp() {
  if (timestamps_ < max_timestamps_)
    device_->vk().vkCmdWriteTimestamp(buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_, timestamps_++);
}

Status Commands::end() {
  const DeviceFunctions& vk = device_->vk();
  const VkMemoryBarrier barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT |
                       (foreign_ ? VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT : 0u)};
  const VkPipelineStageFlags readers =
      foreign_ ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  vk.vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT | readers, 0, 1,
                          &barrier, 0, nullptr, 0, nullptr);
  return check(vk.vkEndCommandBuffer(buffer_), "vkEndCommandBuffer");
}

Status Commands::submit(VkSubmitInfo batch, VkFence fence) {
  batch.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  batch.commandBufferCount = 1;
  batch.pCommandBuffers = &buffer_;
  FERRY_TRY(device_->submit(batch, fence_));
  pending_ = true;
  if (fence == VK_NULL_HANDLE) return {};
  const VkSubmitInfo nothing{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};  // signals after all earlier submissions
  return device_->submit(nothing, fence);
}

Status Commands::wait() {
  Status status = device_->wait(fence_);
  pending_ = !status.ok() && status.code() != FERRY_GPU_LOST;
  if (status.ok()) status = check(device_->vk().vkResetFences(device_->handle(), 1, &fence_), "vkResetFences");
  return status;
}

Status Commands::timestamps(std::span<const double>* out) {
  *out = {};
  if (timestamps_ == 0) return {};
  FERRY_TRY(check(device_->vk().vkGetQueryPoolResults(device_->handle(), queries_, 0, timestamps_,
                                                      timestamps_ * sizeof(uint64_t), ticks_.data(), sizeof(uint64_t),
                                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                  "vkGetQueryPoolResults"));
  const Limits& limits = device_->limits();
  for (size_t i = 0; i < timestamps_; ++i)
    nanoseconds_[i] = static_cast<double>((ticks_[i] - ticks_[0]) & limits.timestamp_mask) * limits.timestamp_ns;
  *out = std::span(nanoseconds_).first(timestamps_);
  return {};
}

}  // namespace ferry::gpu
