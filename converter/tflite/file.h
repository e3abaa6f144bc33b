// A .tflite file: mapped, verified, and read in place by the classes that flatc generates.
//
// The design. A file becomes a graph in one pass: its operators are in execution order, its activations are N,H,W,C as
// the blob's, and its filters O,H,W,I, so most constants enter the graph unchanged (constants.h). For each operator the
// importer (importer.h) calls a function of ops/ by a row of the table (operators.h); the function reads inputs and
// options from an Op (op.h) and adds operators to the graph. Whatever depends on constants only is folded at once, so
// shapes that a file computes are known to the operators that need them. All reasons against a file are collected.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "converter/checkpoint/mapped_file.h"
#include "tflite_generated.h"

namespace ferry::tflite {

namespace schema = ::tflite;

// All indices and offsets in it are valid, and an activation has one producer, which precedes its readers.
struct File {
  std::shared_ptr<const MappedFile> mapped;
  std::shared_ptr<const void> owner;  // of the network's bytes: `mapped`, or a copy
  const schema::Model* model = nullptr;
  const schema::SubGraph* graph = nullptr;  // the network
  int subgraph = 0;                         // its number

  std::string name() const { return mapped->path().filename().string(); }
  const schema::Tensor& tensor(int index) const { return *graph->tensors()->Get(static_cast<unsigned>(index)); }
  // "conv1", or "tensor 3" if the file names none.
  std::string tensor_name(int index) const;
  const schema::OperatorCode& code(const schema::Operator& op) const;
  // "CONV_2D", the name of a custom operator, or "operator 170" of a later schema.
  std::string operator_name(const schema::Operator& op) const;
  schema::BuiltinOperator builtin(const schema::Operator& op) const;
  // A constant's bytes in the file; empty for activations.
  std::span<const std::byte> bytes(int tensor) const;
};

// Whether the file has the identifier of .tflite files.
bool looks_like_tflite(std::span<const std::byte> bytes);

// The file with its first network, or with the one that is called `network`: the key of a signature, or the name of a
// subgraph. Throws Error if there is none, if the file is damaged, or of another version of the schema.
File open_file(const std::filesystem::path& path, const std::string& network = "");
// The same of bytes that are a part of a file.
File open_part(std::shared_ptr<const MappedFile> mapped, std::span<const std::byte> bytes,
               const std::string& network = "");

// The names of the networks that signatures describe, for open_file(); empty if there are less than two.
std::vector<std::string> networks_of(const File& file);

// The signature of the file's network; null without one.
const schema::SignatureDef* signature_of(const File& file);

// The file with another of its subgraphs. Throws Error if there is none, or it is damaged.
File subgraph_of(const File& file, int index);

// Whether a size of its shape is 0.
bool has_no_elements(const schema::Tensor& tensor);

// The size of a flatbuffers vector that may be absent.
template <typename Vector>
unsigned count(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

}  // namespace ferry::tflite
